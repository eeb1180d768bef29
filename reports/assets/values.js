// The lanes of the nodes' keys: author, period and end of each value.

const STAYS = 0, ENDED = 1, TAKEN = 2, LOST = 3;

const VALUE_LEGEND = [
  ['value of a key, in the colour of the client that wrote it', (pen, c) => drawValue(pen, { left: 0, top: 1, width: 22, height: 12 }, c.who[0], ENDED, c)],
  ['removed or overwritten by another client', (pen, c) => drawValue(pen, { left: 0, top: 1, width: 22, height: 12 }, c.who[0], TAKEN, c)],
  ['lost: evicted, flushed, restarted …', (pen, c) => drawValue(pen, { left: 0, top: 1, width: 22, height: 12 }, c.who[0], LOST, c)],
];

// A value shorter than this part of the run does not distinguish nodes.
const SHORT = 1 / 40;

// Returns the authors and the fates of the longer values of a key on a node.
function outline(track, row) {
  const long = row.pieces.filter((piece) => piece.to_ns - piece.from_ns >= track.end_ns * SHORT);
  return JSON.stringify([row.key, long.map((piece) => [piece.who, piece.fate])]);
}

// Returns the lanes of keys as groups of nodes with the same outline.
function alike(track) {
  const groups = new Map();
  for (const row of track.values) {
    const same = outline(track, row);
    groups.set(same, [...(groups.get(same) ?? []), row]);
  }
  return Array.from(groups.values());
}

// Returns a row with the name of each key, followed by a lane per node, or per group of nodes that are alike.
function valueRows(track, everyNode) {
  const groups = everyNode ? track.values.map((row) => [row]) : alike(track);
  const height = groups.length > 12 ? 15 : 19;
  const rows = [];
  let key = null;
  for (const [row, ...others] of groups) {
    if (row.key !== key) rows.push(keyNameRow(row.key));
    key = row.key;
    rows.push(valueRow(row, height, others.length + 1));
  }
  return rows;
}

function keyNameRow(key) {
  return {
    label: '', height: 17,
    draw(pen, top, view, colours) {
      pen.font = '12px system-ui, sans-serif';
      pen.fillStyle = colours.muted;
      pen.fillText(`key ${key}`, view.left + 2, top + 13);
    },
    at: () => [],
  };
}

function valueRow(row, height, nodes) {
  const { pieces } = row;
  return {
    label: nodes > 1 ? `${nodes} nodes` : `node ${row.node}`, title: `key ${row.key} on node ${row.node}`, height,
    walk: { first: 0, end: pieces.length, from: (i) => pieces[i].from_ns, to: (i) => pieces[i].to_ns },
    draw(pen, top, view, colours) {
      pen.fillStyle = colours.line;
      pen.fillRect(view.left, top + height / 2 - 0.5, view.right - view.left, 1);
      drawValues(pen, pieces, { top: top + 2, height: height - 4 }, view, colours);
    },
    at(time, reach) {
      const index = firstIndex(0, pieces.length, (i) => pieces[i].to_ns + reach >= time);
      // If two values meet here, choose the one at that time.
      const next = pieces[index + 1];
      const piece = next && next.from_ns <= time ? next : pieces[index];
      return piece && piece.from_ns - reach <= time ? describeValue(piece) : ['no value'];
    },
  };
}

// Draws values. Those narrower than a pixel share a column with their neighbours.
function drawValues(pen, pieces, box, view, colours) {
  let index = firstIndex(0, pieces.length, (i) => pieces[i].to_ns > view.from);
  let drawn = -1;
  pen.font = '12px system-ui, sans-serif';
  for (; index < pieces.length && pieces[index].from_ns < view.to; index++) {
    const piece = pieces[index];
    const left = Math.max(view.x(piece.from_ns), view.left - 2), right = Math.min(view.x(piece.to_ns), view.right + 2);
    const unusual = piece.fate >= TAKEN;
    if (right <= drawn && !unusual) continue;
    const place = { left, top: box.top, width: Math.max(1, right - left), height: box.height };
    drawn = left + place.width;
    drawValue(pen, place, piece.many ? colours.muted : colours.ofClient(piece.who), piece.fate, colours);
    valueWords(pen, piece, place, view, colours);
  }
}

// Draws a value with its end: a plain edge, a red one if another client removed it, or a notched one in the
// colour of faults if the server lost it.
function drawValue(pen, { left, top, width, height }, colour, fate, colours) {
  pen.globalAlpha = 0.28;
  pen.fillStyle = colour;
  pen.fillRect(left, top, width, height);
  pen.globalAlpha = 1;
  pen.fillRect(left, top, Math.min(3, width), height);
  if (fate === STAYS) return;
  const right = left + width;
  if (fate === ENDED) {
    if (width > 5) pen.fillRect(right - 1, top, 1, height);
    return;
  }
  pen.fillStyle = fate === TAKEN ? colours.overlap : colours.fault;
  pen.fillRect(right - 3, top, 3, height);
  if (width < 8) return;
  pen.beginPath();
  if (fate === TAKEN) {
    pen.moveTo(right - 7, top);
    pen.lineTo(right, top);
    pen.lineTo(right, top + 6);
  } else {
    pen.moveTo(right - 7, top);
    pen.lineTo(right, top);
    pen.lineTo(right, top + height);
    pen.lineTo(right - 7, top + height);
    pen.lineTo(right - 3, top + height / 2);
  }
  pen.fill();
}

// Draws as much text as fits: the author, the reason for the end, and the value.
function valueWords(pen, piece, { left, top, width, height }, view, colours) {
  const from = Math.max(left, view.left), room = Math.min(left + width, view.right) - from - 12;
  if (height < 10 || room < 14) return;
  const who = piece.many ? `${piece.many[0]} values` : piece.who === undefined ? 'unknown client' : `client ${piece.who}`;
  const brief = piece.many ? who : `c${piece.who ?? '?'}`;
  const ended = piece.many ? '' : piece.end + (piece.by === undefined ? '' : ` by client ${piece.by}`);
  const value = shortTokens(piece.value);
  const few = value.length > 9 ? `${Array.from(value).slice(0, 8).join('')}…` : value;
  const tries = [[who, ended, value], [who, ended, few], [who, ended], [who], [brief]].map((words) => words.filter(Boolean).join(' · '));
  const words = tries.find((words) => pen.measureText(words).width <= room);
  if (!words) return;
  pen.fillStyle = colours.ink;
  pen.fillText(words, from + 6, top + height / 2 + 4);
}

function describeValue(piece) {
  const length = piece.to_ns - piece.from_ns;
  const times = `${formatTime(piece.from_ns, length || 1e6)} to ${formatTime(piece.to_ns, length || 1e6)}, ${span(length)}`;
  if (piece.many) {
    const [count, there] = piece.many;
    return [`${count} values, there for ${span(there)} in all`, times, 'too short to draw separately'];
  }
  const lines = [piece.who === undefined ? 'value of an unknown author' : `value of client ${piece.who}`, `value ${piece.value}`];
  lines.push(times);
  if (piece.wrote !== undefined) lines.push(`written by ${piece.wrote}`);
  lines.push(piece.expiry ? `expiry ${span(piece.expiry[1] * 1e6)}, set at ${formatTime(piece.expiry[0])}` : 'no expiry');
  if (piece.fate === STAYS) lines.push('still there at the end of the run');
  else lines.push(piece.took === undefined ? piece.end : `${piece.end} by ${piece.took}`);
  return lines;
}
