// Colours of the page's theme, and patterns that tell things apart without them.

const NAMES = ['ink', 'muted', 'line', 'surface', 'hold', 'past', 'wait', 'frozen', 'overlap', 'dead', 'fault', 'accent'];
const WORKER_COLOURS = 6;

// The theme's colours as the canvas wants them: resolved, because they depend on light and dark.
function palette() {
  const probe = document.createElement('span');
  probe.hidden = true;
  document.body.append(probe);
  const colours = {};
  for (const name of NAMES) {
    probe.style.color = `var(--${name})`;
    colours[name] = getComputedStyle(probe).color;
  }
  // A worker's colour is beside its number wherever it is used: six tell neighbours apart.
  colours.who = [];
  for (let index = 0; index < WORKER_COLOURS; index++) {
    probe.style.color = `var(--who-${index})`;
    colours.who.push(getComputedStyle(probe).color);
  }
  probe.remove();
  colours.hatch = {
    past: hatch(colours.past, 'slash'),
    perhaps: hatch(colours.hold, 'slash'),
    frozen: hatch(colours.frozen, 'back'),
    dead: hatch(colours.dead, 'cross'),
    overlap: hatch(colours.overlap, 'slash'),
    fault: hatch(colours.fault, 'dots'),
  };
  colours.ofWorker = (worker) => (worker === undefined ? colours.muted : colours.who[worker % WORKER_COLOURS]);
  return colours;
}

// A repeating pattern of lines one way, the other way, both ways, or dots.
function hatch(colour, style) {
  const size = 6;
  const tile = document.createElement('canvas');
  tile.width = tile.height = size;
  const pen = tile.getContext('2d');
  pen.fillStyle = colour;
  pen.globalAlpha = style === 'slash' ? 0.3 : 0;
  pen.fillRect(0, 0, size, size);
  pen.globalAlpha = 1;
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = style === 'slash' ? 2 : 1.6;
  pen.beginPath();
  for (const shift of [-size, 0, size]) {
    if (style === 'slash' || style === 'cross') { pen.moveTo(shift - 1, size + 1); pen.lineTo(shift + size + 1, -1); }
    if (style === 'back' || style === 'cross') { pen.moveTo(shift - 1, -1); pen.lineTo(shift + size + 1, size + 1); }
  }
  pen.stroke();
  if (style === 'dots') pen.fillRect(2, 2, 2, 2);
  return pen.createPattern(tile, 'repeat');
}

function span(ns) {
  const units = [[60e9, 'min'], [1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];
  const [size, unit] = units.find(([size]) => Math.abs(ns) >= size) || [1, 'ns'];
  return `${Number((ns / size).toPrecision(4))} ${unit}`;
}

// A moment, with as many decimals as the distance between two of them asks for.
function moment(ns, step) {
  const decimals = Math.min(9, Math.max(3, Math.ceil(9 - Math.log10(step || 1e6))));
  return `${(ns / 1e9).toFixed(decimals)} s`;
}

// A whole number in a few characters.
function short(value) {
  const size = Math.abs(value);
  if (size < 10000) return String(value);
  const [by, unit] = size < 1e6 ? [1e3, 'k'] : size < 1e9 ? [1e6, 'M'] : [1e9, 'G'];
  return `${Number((value / by).toPrecision(3))}${unit}`;
}

// A round distance between two marks of an axis.
function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= rough);
}

