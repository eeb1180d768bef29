// The lanes of clients and nodes.

const KIND_WORDS = ['waits', 'holds', 'holds, lease perhaps over', 'holds, lease over', 'releases', 'many short holds', 'many short holds, some past their lease'];
// The words of a piece, the longest first.
const WORDS = { [WAITING]: ['waits'], [IN_LEASE]: ['holds'], [PAST_LEASE]: ['lease over', 'over'] };
const MARK_WORDS = ['dies', 'was fenced off', 'sells', 'was asked to cancel its request'];

function clientRow(track, lane, laneIndex, height) {
  const marks = track.marks[laneIndex];
  return {
    label: `client ${lane.worker}`, height, lane, who: lane.worker,
    walk: { first: lane.first, end: lane.end, from: (i) => track.from[i], to: (i) => track.to[i] },
    draw(pen, top, view, colours) {
      const pad = height > 12 ? 3 : 0.5;
      const box = { top: top + pad, height: height - 2 * pad };
      drawPieces(pen, track, lane, box, view, colours);
      drawPast(pen, track, lane, box, view, colours);
      // Freezes are drawn in the lower half, so that holds remain visible above.
      const half = { top: box.top + box.height / 2, height: box.height / 2 };
      for (const [from, to] of lane.frozen) {
        band(pen, view, from, to, half, colours.surface, null);
        band(pen, view, from, to, half, colours.hatch.frozen, colours.muted);
      }
      for (const gone of lane.dead) band(pen, view, gone.from_ns, gone.to_ns, box, colours.hatch.dead, null);
      drawClock(pen, lane.clock, { top: box.top + box.height - Math.min(4, box.height / 3), height: Math.min(4, box.height / 3) }, box, view, colours);
      drawWords(pen, track, lane, box, view, colours);
      drawMarks(pen, marks, box, view, colours);
    },
    at(time, reach) {
      return describeLane(track, lane, marks, time, reach);
    },
  };
}

// Draws pieces that are wider than a pixel as they are. Narrower ones are drawn as the share of the pixel
// in which the lock was held, so the cost of a frame depends on its pixels, not on the number of holds.
function drawPieces(pen, track, lane, box, view, colours) {
  const { from, to, kind, held } = track;
  let index = firstIndex(lane.first, lane.end, (i) => to[i] > view.from);
  const middle = box.top + box.height / 2;
  const thin = Math.max(1, box.height / 6);
  while (index < lane.end && from[index] < view.to) {
    const left = view.x(from[index]), width = view.x(to[index]) - left;
    if (width >= 1.5 && kind[index] < CLUSTER) {
      if (isHold(kind[index])) {
        pen.fillStyle = colours.ofHold(kind[index], lane.worker);
        pen.fillRect(left, box.top, width, box.height);
      } else {
        pen.fillStyle = kind[index] === RELEASING ? colours.muted : colours.wait;
        pen.fillRect(left, middle - thin / 2, width, thin);
      }
      index += 1;
      continue;
    }
    const column = Math.max(Math.floor(left), view.left);
    const until = view.time(Math.max(column + 1, Math.min(left + width, view.right)));
    const after = Math.max(index + 1, firstIndex(index, lane.end, (i) => from[i] >= until));
    const length = Math.max(until, to[after - 1]) - Math.max(from[index], view.from);
    const share = Math.min(1, (held[after] - held[index]) / (Math.max(length, to[index] - from[index]) || 1));
    const wide = Math.max(1, Math.min(view.x(to[after - 1]), view.right) - column);
    pen.fillStyle = colours.wait;
    pen.fillRect(column, middle - 0.5, wide, 1);
    if (share > 0) {
      pen.globalAlpha = 0.25 + 0.75 * share;
      pen.fillStyle = colours.ofClient(lane.worker);
      pen.fillRect(column, box.top, wide, box.height);
      pen.globalAlpha = 1;
    }
    index = after;
  }
}

// Marks expired leases at every zoom level.
function drawPast(pen, track, lane, box, view, colours) {
  const { past } = lane;
  let at = firstIndex(0, past.length, (i) => track.to[past[i]] > view.from);
  pen.fillStyle = colours.past;
  let drawn = -1;
  for (; at < past.length && track.from[past[at]] < view.to; at++) {
    const left = view.x(track.from[past[at]]), width = view.x(track.to[past[at]]) - left;
    if (width >= 1.5 || left <= drawn) continue;
    pen.fillRect(left, box.top, 2, box.height);
    drawn = left + 2;
  }
}

// Writes into wide pieces, so that a reader needs no legend for them. A view of very many pieces has no room for words.
function drawWords(pen, track, lane, box, view, colours) {
  const first = firstIndex(lane.first, lane.end, (i) => track.to[i] > view.from);
  const after = firstIndex(first, lane.end, (i) => track.from[i] >= view.to);
  if (box.height < 18 || after - first > 400) return;
  pen.font = '12px system-ui, sans-serif';
  let free = -Infinity;
  for (let index = first; index < after; index++) {
    const from = track.from[index], to = track.to[index];
    const left = Math.max(view.x(from), view.left), width = Math.min(view.x(to), view.right) - left;
    const frozen = lane.frozen.reduce((sum, span) => sum + Math.max(0, Math.min(span[1], to) - Math.max(span[0], from)), 0);
    const words = WORDS[track.kind[index]] ?? [];
    const state = frozen > (to - from) / 2 ? ', frozen' : '';
    const word = [...words.map((it) => it + state), ...words].find((it) => pen.measureText(it).width + 12 <= width);
    if (!word || left < free) continue;
    label(pen, word, left + 4, box.top + (box.height - 15) / 2, width - 4, 15, view, colours);
    // Words of a lock that polls would repeat.
    if (track.kind[index] === WAITING) free = left + 200;
  }
}

function drawMarks(pen, marks, box, view, colours) {
  if (box.height < 8) return;
  const middle = box.top + box.height / 2;
  const apart = 6 * view.perPixel;
  let at = firstIndex(0, marks.length, (i) => marks[i].at >= view.from);
  pen.textAlign = 'center';
  for (; at < marks.length && marks[at].at <= view.to; at++) {
    const x = view.x(marks[at].at);
    // Always draw deaths and refusals, but sales only where they can be distinguished.
    const near = (other) => other && Math.abs(other.at - marks[at].at) < apart;
    if (marks[at].what === 2 && (near(marks[at - 1]) || near(marks[at + 1]))) continue;
    pen.fillStyle = marks[at].what === 0 ? colours.overlap : colours.ink;
    if (marks[at].what === 2) {
      pen.beginPath();
      pen.arc(x, middle, 2.5, 0, 7);
      pen.fill();
      pen.strokeStyle = colours.surface;
      pen.stroke();
    } else {
      pen.font = 'bold 12px system-ui, sans-serif';
      pen.fillText(['✝', '×', '', '⊘'][marks[at].what], x, middle + 4.5);
    }
  }
  pen.textAlign = 'left';
}

function band(pen, view, from, to, box, fill, edge) {
  if (to < view.from || from > view.to) return;
  const left = Math.max(view.x(from), view.left - 1), right = Math.min(view.x(to), view.right + 1);
  pen.fillStyle = fill;
  pen.fillRect(left, box.top, Math.max(2, right - left), box.height);
  if (edge && right - left > 4) {
    pen.strokeStyle = edge;
    pen.lineWidth = 1;
    pen.strokeRect(left + 0.5, box.top + 0.5, right - left - 1, box.height - 1);
  }
}

function describeLane(track, lane, marks, time, reach) {
  const lines = [];
  const mark = marks.find((mark) => Math.abs(mark.at - time) <= reach);
  if (mark) lines.push(`${formatTime(mark.at)}: ${MARK_WORDS[mark.what]}`);
  const index = pieceAt(track, lane, time, reach);
  if (index >= 0) lines.push(...describePiece(track, index));
  for (const [from, to] of lane.frozen) {
    if (from <= time && time <= to) lines.push(`frozen from ${formatTime(from)} to ${formatTime(to)}, ${span(to - from)}`);
  }
  lines.push(...describeClock(lane.clock, time));
  for (const gone of lane.dead) {
    if (gone.from_ns <= time && time <= gone.to_ns) lines.push(`dead since ${formatTime(gone.from_ns)}: ${gone.words}`);
  }
  return lines;
}

// Returns the piece at a time, or the nearest one within reach.
function pieceAt(track, lane, time, reach) {
  const index = firstIndex(lane.first, lane.end, (i) => track.to[i] > time);
  if (index < lane.end && track.from[index] - reach <= time) return index;
  return index > lane.first && track.to[index - 1] + reach >= time ? index - 1 : -1;
}

// Draws a wrong clock as a strip along its lane, with its offset if there is enough room.
function drawClock(pen, spans, strip, box, view, colours) {
  pen.font = '12px system-ui, sans-serif';
  for (const off of spans) {
    if (off.to_ns < view.from || off.from_ns > view.to) continue;
    band(pen, view, off.from_ns, off.to_ns, strip, colours.surface, null);
    band(pen, view, off.from_ns, off.to_ns, strip, colours.hatch.fault, colours.fault);
    if (box.height < 12) continue;
    const left = Math.max(view.x(off.from_ns), view.left), right = Math.min(view.x(off.to_ns), view.right);
    label(pen, `clock ${off.by}`, left, box.top, Math.max(0, right - left), Math.min(15, box.height), view, colours);
  }
}

function describeClock(spans, time) {
  const here = spans.filter((off) => off.from_ns <= time && time <= off.to_ns);
  return here.map((off) => `${off.words} (from ${formatTime(off.from_ns)} to ${formatTime(off.to_ns)})`);
}

function describePiece(track, index) {
  const from = track.from[index], to = track.to[index], kind = track.kind[index];
  const lines = [`${KIND_WORDS[kind]} for ${span(to - from)}`, `${formatTime(from, to - from || 1)} to ${formatTime(to, to - from || 1)}`];
  const cluster = track.cluster.get(index);
  if (cluster) return [...lines, `${cluster.holds} holds, ${span(cluster.held)} in all`];
  const key = track.keys.length > 1 ? `, key ${track.keys[track.key[index]] ?? track.key[index]}` : '';
  lines.push(`attempt ${track.op[index]}${key}`);
  const token = track.tokens[track.op[index]];
  if (token !== undefined && kind !== WAITING) lines.push(`token ${token}`);
  lines.push(...describeMessages(track.messages, track.op[index]));
  return lines;
}

function nodeRow(node, height) {
  return {
    label: `node ${node.node}`, height, node: node.node,
    draw(pen, top, view, colours) {
      const box = { top: top + 3, height: height - 6 };
      pen.fillStyle = colours.line;
      pen.fillRect(view.left, top + height / 2 - 1, view.right - view.left, 2);
      for (const part of node.spans) {
        if (part.state === 'down') band(pen, view, part.from_ns, part.to_ns, box, colours.hatch.dead, colours.dead);
        else if (part.state === 'frozen') band(pen, view, part.from_ns, part.to_ns, box, colours.hatch.frozen, colours.muted);
        else flag(pen, view, part, box, colours);
      }
      drawClock(pen, node.clock, box, box, view, colours);
    },
    at(time, reach) {
      const here = node.spans.filter((part) => part.from_ns - reach <= time && time <= part.to_ns + reach);
      const lines = here.map((part) => `${part.state}: ${part.words} (since ${formatTime(part.from_ns)})`);
      lines.push(...describeClock(node.clock, time));
      return lines.length ? lines : ['up'];
    },
  };
}

// Draws a permanent change as a flag at its time.
function flag(pen, view, part, box, colours) {
  if (part.from_ns < view.from || part.from_ns > view.to) return;
  const x = view.x(part.from_ns);
  pen.fillStyle = colours.fault;
  pen.beginPath();
  pen.moveTo(x, box.top);
  pen.lineTo(x + 9, box.top + 4);
  pen.lineTo(x + 1.5, box.top + 8);
  pen.lineTo(x + 1.5, box.top + box.height);
  pen.lineTo(x, box.top + box.height);
  pen.fill();
  pen.font = '12px system-ui, sans-serif';
  pen.fillStyle = colours.muted;
  pen.fillText(part.kind, x + 12, box.top + 9);
}

