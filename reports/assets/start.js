// The entry point of the script. A timeline is created when the details of its cell are first opened.

const timelines = new Map();

const LEGEND = [
  ['waits', (pen, c) => { pen.fillStyle = c.wait; pen.fillRect(0, 6, 22, 2); }],
  ['holds', (pen, c) => { pen.fillStyle = c.ofHold(IN_LEASE, 0); pen.fillRect(0, 1, 22, 12); }],
  ['holds, lease perhaps over', (pen, c) => { pen.fillStyle = c.ofHold(PERHAPS_PAST, 0); pen.fillRect(0, 1, 22, 12); }],
  ['holds, lease over', (pen, c) => { pen.fillStyle = c.ofHold(PAST_LEASE, 0); pen.fillRect(0, 1, 22, 12); }],
  ['overlapping holds', (pen, c) => { pen.fillStyle = c.overlap; pen.fillRect(0, 1, 22, 12); }],
  ['frozen', (pen, c) => { pen.fillStyle = c.hatch.frozen; pen.fillRect(0, 1, 22, 12); pen.strokeStyle = c.muted; pen.strokeRect(0.5, 1.5, 21, 11); }],
  ['dead, down', (pen, c) => { pen.fillStyle = c.hatch.dead; pen.fillRect(0, 1, 22, 12); }],
  ['fault', (pen, c) => { pen.fillStyle = c.hatch.fault; pen.fillRect(0, 1, 22, 12); pen.strokeStyle = c.fault; pen.strokeRect(0.5, 1.5, 21, 11); }],
  ['sells', (pen, c) => { pen.fillStyle = c.ink; pen.beginPath(); pen.arc(11, 7, 3, 0, 7); pen.fill(); }],
  ['× fenced off', null],
  ['⊘ cancels its request', null],
  ['✝ dies', null],
];

// The entries that a narrow page shows below the timeline, because its bars have no room for words.
const BRIEF = ['waits', 'holds', 'holds, lease over', 'frozen'];

function drawLegends(details, { track, colours }) {
  const entries = track.values.length ? [...LEGEND, ...VALUE_LEGEND] : LEGEND;
  drawLegend(details.querySelector('.help .legend'), entries, colours);
  drawLegend(details.querySelector('.legend.brief'), LEGEND.filter(([words]) => BRIEF.includes(words)), colours);
}

function drawLegend(list, entries, colours) {
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

const DO = [
  ['previous', '‹ <span>Previous</span>', 'Previous violation (p)'],
  ['next', '<span>Next violation</span> ›', 'Next violation (n)'],
  ['in', '+', 'Zoom in (+)'],
  ['out', '−', 'Zoom out (-)'],
  ['all', 'Whole run', 'The whole run (0)'],
  ['messages', 'Messages', 'Messages as arrows: commands and replies (m)'],
  ['nodes', 'Every node', 'A lane for every node'],
];

const HELP = `<details class="fold"><summary>Legend and keys of the timeline</summary><ul class="legend"></ul>
<p class="note hint">Drag to pan, pinch or Ctrl + wheel to zoom; once clicked, the wheel alone zooms.<span class="keys"> Keys:
<kbd>←</kbd> <kbd>→</kbd> pan, <kbd>+</kbd> <kbd>−</kbd> zoom, <kbd>0</kbd> whole run, <kbd>n</kbd> <kbd>p</kbd> violations,
<kbd>↑</kbd> <kbd>↓</kbd> lane, <kbd>,</kbd> <kbd>.</kbd> along it, <kbd>m</kbd> messages.</span></p></details>`;

const KEYS = 'A lane for each client, node, and key of a node. Arrow keys pan, plus and minus zoom, n and p go to the next and the previous violation, up and down choose a lane, comma and full stop move along it.';

// Adds what is the same in every timeline: buttons, legend and keys.
function furnish(details, element) {
  const tools = element.querySelector('.tools');
  const has = 'messages' in tools.dataset;
  const button = ([name, words, title]) => `<button type="button" class="button" data-do="${name}" title="${title}" aria-label="${title}"${
    name === 'messages' || name === 'nodes' ? ' aria-pressed="false"' : ''}>${words}</button>`;
  tools.innerHTML = `<h3>Timeline</h3><span class="jump-status" role="status"></span><span class="many" role="status"></span>${
    DO.filter(([name]) => has || name !== 'messages').map(button).join('')}`;
  details.querySelector('.help').innerHTML = HELP;
  element.querySelector('.stage').insertAdjacentHTML('afterend', '<ul class="legend brief" aria-hidden="true"></ul>');
  const canvas = element.querySelector('canvas');
  canvas.setAttribute('aria-label', `${canvas.getAttribute('aria-label')}: ${KEYS}`);
}

function startTimeline(details) {
  const element = details.querySelector('.timeline');
  if (!element) return;
  const known = timelines.get(element);
  if (known) {
    known.requestDraw();
    return;
  }
  furnish(details, element);
  const track = readTrack(document.getElementById(`track-${element.dataset.cell}`));
  const timeline = new Timeline(element, track);
  timelines.set(element, timeline);
  control(timeline);
  fillLog(timeline);
  linkStories(details, timeline);
  drawLegends(details, timeline);
  const lines = Array.from(details.querySelectorAll('.story li[data-at]'), (line) => ({ at: Number(line.dataset.at), number: line.dataset.number }));
  timeline.number(lines.filter((line) => line.number), lines.map((line) => line.at));
  element.querySelector('[data-do="nodes"]').hidden = alike(track).length === track.values.length;
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
    drawLegends(element.closest('.cell-details'), timeline);
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
