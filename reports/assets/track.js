// Unpacks the columns of a history into typed arrays. src/html/timeline_data.rs documents the numbers.

const WAITING = 0, IN_LEASE = 1, PERHAPS_PAST = 2, PAST_LEASE = 3, RELEASING = 4, CLUSTER = 5, CLUSTER_PAST = 6;

const isHold = (kind) => kind >= IN_LEASE && kind <= PAST_LEASE;

// Returns a function that reads the next number. Numbers have seven bits per byte, lowest bits first.
function numbers(text) {
  const bytes = atob(text);
  let at = 0;
  const next = () => {
    let value = 0, weight = 1, byte;
    do {
      byte = bytes.charCodeAt(at++);
      value += (byte & 127) * weight;
      weight *= 128;
    } while (byte > 127);
    return value;
  };
  next.ended = () => at >= bytes.length;
  next.signed = () => {
    const value = next();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  };
  return next;
}

// Returns the first index of low..high for which `test` holds, or high if there is none.
function firstIndex(low, high, test) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(middle)) high = middle; else low = middle + 1;
  }
  return low;
}

// Shortens the long tokens in a text as the terminal does: words of hexadecimal digits, and UUIDs.
function shortTokens(text) {
  return text.replace(/[\p{L}\p{N}_-]{20,}/gu, (word) => (/^[0-9a-f-]+$/i.test(word) && /\d/.test(word) ? `${word.slice(0, 8)}…` : word));
}

function readTrack(element) {
  // A record calls a client a worker, after its process. A page has one word for both.
  const track = JSON.parse(element.textContent.replace(/\bworker(?=s? \d)/g, 'client'));
  const count = track.lanes.reduce((sum, lane) => sum + lane.pieces, 0);
  const unit = track.unit_ns;
  const gaps = numbers(track.gaps), lengths = numbers(track.lengths), kinds = numbers(track.kinds);
  const ops = numbers(track.ops), keys = numbers(track.piece_keys), clusters = numbers(track.clusters);
  const from = new Float64Array(count), to = new Float64Array(count);
  const kind = new Uint8Array(count), op = new Float64Array(count), key = new Uint32Array(count);
  // Time held before each piece, which yields the time held in any part of a lane.
  const held = new Float64Array(count + 1);
  const cluster = new Map();
  let index = 0;
  for (const lane of track.lanes) {
    lane.first = index;
    lane.end = index + lane.pieces;
    lane.past = [];
    let time = 0, attempt = 0;
    for (; index < lane.end; index++) {
      from[index] = (time += gaps()) * unit;
      to[index] = (time += lengths()) * unit;
      kind[index] = kinds();
      op[index] = (attempt += ops.signed());
      key[index] = keys();
      let hold = isHold(kind[index]) ? to[index] - from[index] : 0;
      if (kind[index] >= CLUSTER) {
        const summary = { holds: clusters(), held: clusters() * unit };
        cluster.set(index, summary);
        hold = summary.held;
      }
      held[index + 1] = held[index] + hold;
      if (kind[index] === PAST_LEASE || kind[index] === CLUSTER_PAST) lane.past.push(index);
    }
  }
  const columns = { from, to, kind, op, key, held, cluster };
  for (const lane of track.lanes) lane.together = readTogether(track.overlaps, columns, lane);
  return Object.assign(track, columns, {
    messages: readMessages(track.messages),
    marks: readMarks(track),
    stock: track.stock.map(readSteps),
    fences: track.fences && readFences(track.fences),
    values: readValues(track.values),
  });
}

// Returns when the holds of a worker overlap with others, ordered by time.
function readTogether(overlaps, { from, to, kind, key }, lane) {
  const spans = [];
  for (const [began, ended, overlapKey] of overlaps) {
    let i = firstIndex(lane.first, lane.end, (i) => to[i] > began);
    for (; i < lane.end && from[i] < ended; i++) {
      if (isHold(kind[i]) && key[i] === overlapKey) spans.push([Math.max(began, from[i]), Math.min(ended, to[i])]);
    }
  }
  return spans;
}

// Replaces the text indexes of the nodes' keys by the texts.
function readValues({ rows, texts }) {
  for (const row of rows) {
    for (const piece of row.pieces) {
      for (const name of ['value', 'wrote', 'end', 'took']) {
        if (piece[name] !== undefined) piece[name] = texts[piece[name]];
      }
    }
  }
  return rows;
}

function readMarks(track) {
  const next = numbers(track.marks);
  const marks = track.lanes.map(() => []);
  let time = 0;
  while (!next.ended()) {
    time += next();
    const lane = next();
    marks[lane].push({ at: time * track.unit_ns, what: next() });
  }
  return marks;
}

function readSteps(line) {
  const next = numbers(line.points);
  const points = [{ at: 0, value: line.start }];
  let at = 0;
  while (!next.ended()) {
    at += next();
    points.push({ at, value: next.signed() });
  }
  return { key: line.key, low: line.low, high: line.high, points };
}

function readFences(fences) {
  const next = numbers(fences.points);
  const points = [];
  let at = 0;
  while (!next.ended()) {
    at += next();
    points.push({ at, value: next(), stale: next() === 1 });
  }
  return { low: fences.low, high: fences.high, points };
}

