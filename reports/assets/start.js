// The entry point of the script. A timeline is created when the details of its cell are first opened.

const timelines = new Map();

const LEGEND = [
  ['waits', (pen, c) => { pen.fillStyle = c.wait; pen.fillRect(0, 6, 22, 2); }],
  ['holds', (pen, c) => { pen.fillStyle = c.hold; pen.fillRect(0, 1, 22, 12); }],
  ['holds, lease perhaps over', (pen, c) => { pen.fillStyle = c.hatch.perhaps; pen.fillRect(0, 1, 22, 12); }],
  ['holds, lease over', (pen, c) => { pen.fillStyle = c.hatch.past; pen.fillRect(0, 1, 22, 12); }],
  ['overlapping holds', (pen, c) => { pen.fillStyle = c.overlap; pen.fillRect(0, 1, 22, 4); pen.strokeStyle = c.overlap; pen.lineWidth = 2; pen.strokeRect(1, 2, 20, 10); }],
  ['frozen', (pen, c) => { pen.fillStyle = c.hatch.frozen; pen.fillRect(0, 1, 22, 12); pen.strokeStyle = c.frozen; pen.strokeRect(0.5, 1.5, 21, 11); }],
  ['dead, down', (pen, c) => { pen.fillStyle = c.hatch.dead; pen.fillRect(0, 1, 22, 12); }],
  ['fault', (pen, c) => { pen.fillStyle = c.hatch.fault; pen.fillRect(0, 1, 22, 12); pen.strokeStyle = c.fault; pen.strokeRect(0.5, 1.5, 21, 11); }],
  ['sells', (pen, c) => { pen.fillStyle = c.ink; pen.beginPath(); pen.arc(11, 7, 3, 0, 7); pen.fill(); }],
  ['× fenced off', null],
  ['✝ dies', null],
];

function drawLegend(list, { track, colours }) {
  const entries = track.values.length ? [...LEGEND, ...VALUE_LEGEND] : LEGEND;
  list.replaceChildren(...entries.map(([words, draw]) => {
    const item = document.createElement('li');
    if (draw) {
      const swatch = document.createElement('canvas');
      const sharp = window.devicePixelRatio || 1;
      swatch.width = 22 * sharp;
      swatch.height = 14 * sharp;
      swatch.style.width = '22px';
      swatch.style.height = '14px';
      const pen = swatch.getContext('2d');
      pen.scale(sharp, sharp);
      draw(pen, colours);
      item.append(swatch);
    }
    item.append(words);
    return item;
  }));
}

function startTimeline(details) {
  const element = details.querySelector('.timeline');
  if (!element) return;
  const known = timelines.get(element);
  if (known) {
    known.requestDraw();
    return;
  }
  const track = readTrack(document.getElementById(`track-${element.dataset.cell}`));
  const timeline = new Timeline(element, track);
  timelines.set(element, timeline);
  control(timeline);
  fillLog(timeline);
  linkStories(details, timeline);
  drawLegend(element.querySelector('.legend'), timeline);
  element.dataset.ready = '';
  new ResizeObserver(() => timeline.requestDraw()).observe(timeline.canvas.parentElement);
  if (!track.jump_targets.length) {
    element.querySelectorAll('[data-do="next"], [data-do="previous"]').forEach((button) => { button.disabled = true; });
  }
}

function repaint() {
  for (const [element, timeline] of timelines) {
    timeline.colours = palette();
    timeline.draw();
    drawLegend(element.querySelector('.legend'), timeline);
  }
}

startTheme();
document.addEventListener('picklock-theme', repaint);
document.querySelectorAll('.cell-details').forEach(startDetails);
startMatrix();
startNavigation();
// Record when the page is usable: its first frame has been drawn.
requestAnimationFrame(() => setTimeout(() => {
  document.documentElement.dataset.ready = String(Math.ceil(performance.now()));
}));
// Always print in light colours.
addEventListener('beforeprint', () => {
  document.querySelectorAll('.cell-details[open]').forEach(startTimeline);
  document.documentElement.classList.add('printing');
  repaint();
});
addEventListener('afterprint', () => {
  document.documentElement.classList.remove('printing');
  repaint();
});
