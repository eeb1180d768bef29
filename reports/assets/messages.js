// Commands and replies: listed with a hold, and drawn as arrows between the lanes of workers and nodes.

const MAX_ARROWS = 500, MAX_LISTED = 6;
const BUSY = ['', 'acquire', 'extend', 'release'];

function readMessages(messages) {
  if (!messages) return null;
  const all = messages.rows.map(([at, later, worker, node, reply, op, busy, outcome, words]) => ({
    at, sent: later < 0 ? null : at + later, worker, node, reply: reply === 1, op, busy: BUSY[busy],
    outcome: messages.outcomes[outcome], words: messages.words[words],
  }));
  const ofAttempt = new Map();
  for (const message of all) {
    if (!ofAttempt.has(message.op)) ofAttempt.set(message.op, []);
    ofAttempt.get(message.op).push(message);
  }
  return { all, ofAttempt };
}

function describeMessage(message) {
  const how = message.outcome === 'forwarded' ? '' : message.sent === null
    ? ` (${message.outcome})` : ` (${message.outcome}, forwarded at ${formatTime(message.sent, 1e4)})`;
  return `${formatTime(message.at, 1e4)} node ${message.node} ${message.reply ? '←' : '→'} ${message.words}${how}`;
}

// Describes the commands and replies of an attempt while it acquired and released the lock.
function describeMessages(messages, op) {
  const all = (messages && messages.ofAttempt.get(op)) || [];
  const lines = [];
  for (const busy of ['acquire', 'release']) {
    const own = all.filter((message) => message.busy === busy);
    if (!own.length) continue;
    const commands = own.filter((message) => !message.reply).length;
    lines.push(`${busy}: ${commands} ${commands === 1 ? 'command' : 'commands'}`);
    // List the last ones, which include the command that acquired the lock.
    if (own.length > MAX_LISTED) lines.push(`${own.length - MAX_LISTED} more, then`);
    lines.push(...own.slice(-MAX_LISTED).map(describeMessage));
  }
  return lines;
}

// Draws arrows for the messages in the window, unless there are too many. Returns their number.
function drawMessages(pen, timeline, view, colours) {
  const { track, rows } = timeline, { all } = track.messages;
  const first = firstIndex(0, all.length, (i) => all[i].at >= view.from);
  const after = firstIndex(first, all.length, (i) => all[i].at > view.to);
  if (after - first >= MAX_ARROWS) return after - first;
  const middle = (row) => row.top + row.height / 2;
  const workers = new Map(rows.filter((row) => row.lane).map((row) => [row.lane.worker, middle(row)]));
  const nodes = new Map(rows.filter((row) => row.node !== undefined).map((row) => [row.node, middle(row)]));
  pen.lineWidth = 1;
  for (const message of all.slice(first, after)) {
    const worker = workers.get(message.worker), node = nodes.get(message.node);
    if (worker === undefined || node === undefined) continue;
    const [start, goal] = message.reply ? [node, worker] : [worker, node];
    const lost = message.sent === null;
    // A message that was not forwarded ends halfway with a cross.
    const end = lost ? (start + goal) / 2 : goal;
    drawArrow(pen, view.x(message.at), start, view.x(lost ? message.at : message.sent), end,
      lost ? colours.overlap : message.reply ? colours.muted : colours.accent, lost);
  }
  return after - first;
}

function drawArrow(pen, fromX, fromY, toX, toY, colour, lost) {
  pen.strokeStyle = pen.fillStyle = colour;
  pen.beginPath();
  pen.moveTo(fromX, fromY);
  pen.lineTo(toX, toY);
  if (lost) {
    for (const side of [-4, 4]) { pen.moveTo(toX - 4, toY - side); pen.lineTo(toX + 4, toY + side); }
    pen.stroke();
    return;
  }
  pen.stroke();
  const along = Math.atan2(toY - fromY, toX - fromX);
  pen.beginPath();
  pen.moveTo(toX, toY);
  for (const turn of [-0.4, 0.4]) pen.lineTo(toX - 7 * Math.cos(along + turn), toY - 7 * Math.sin(along + turn));
  pen.fill();
}
