// Colours of the page's theme, and patterns that distinguish items without colour.

const NAMES = ['ink', 'muted', 'line', 'surface', 'past', 'wait', 'overlap', 'dead', 'fault', 'accent'];
const CLIENT_COLOURS = 6;

// Returns the theme's colours in resolved form, because the canvas cannot use variables.
function palette() {
  const probe = document.createElement('span');
  probe.hidden = true;
  document.body.append(probe);
  const colours = {};
  for (const name of NAMES) {
    probe.style.color = `var(--${name})`;
    colours[name] = getComputedStyle(probe).color;
  }
  // A client's number always accompanies its colour, so six colours suffice to distinguish neighbours.
  colours.who = [];
  for (let index = 0; index < CLIENT_COLOURS; index++) {
    probe.style.color = `var(--who-${index})`;
    colours.who.push(getComputedStyle(probe).color);
  }
  probe.remove();
  const past = colours.who.map((colour) => hatch(colour, 'slash'));
  const perhaps = colours.who.map((colour) => hatch(colour, 'back', 0.5));
  colours.hatch = {
    frozen: hatch(colours.ink, 'dots'),
    dead: hatch(colours.dead, 'cross'),
    fault: hatch(colours.fault, 'dots'),
  };
  colours.ofClient = (client) => (client === undefined ? colours.muted : colours.who[client % CLIENT_COLOURS]);
  // The fill of a hold: solid, or striped if its lease is over or perhaps over.
  colours.ofHold = (kind, client) => {
    if (kind === IN_LEASE) return colours.ofClient(client);
    return (kind === PERHAPS_PAST ? perhaps : past)[client % CLIENT_COLOURS];
  };
  return colours;
}

// Returns a repeating pattern: slashes, backslashes, crosses or dots.
function hatch(colour, style, base = style === 'slash' ? 0.15 : 0) {
  const size = 6;
  const tile = document.createElement('canvas');
  tile.width = tile.height = size;
  const pen = tile.getContext('2d');
  pen.fillStyle = colour;
  pen.globalAlpha = base;
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

// Formats a time with as many decimals as the distance between two times requires.
function formatTime(ns, step) {
  const decimals = Math.min(9, Math.max(3, Math.ceil(9 - Math.log10(step || 1e6))));
  return `${(ns / 1e9).toFixed(decimals)} s`;
}

// Formats an integer in a few characters.
function short(value) {
  const size = Math.abs(value);
  if (size < 10000) return String(value);
  const [by, unit] = size < 1e6 ? [1e3, 'k'] : size < 1e9 ? [1e6, 'M'] : [1e9, 'G'];
  return `${Number((value / by).toPrecision(3))}${unit}`;
}

// Returns a round distance between two marks of an axis.
function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= rough);
}

