// The log around the violation, with a row for each message, command, change of a key and fault. A click on a row
// shows its time in the timeline, and a click on the timeline shows the row.

function fillLog(timeline) {
  const { log } = timeline.track, table = timeline.element.closest('.cell-details').querySelector('.log');
  if (!table) return;
  const rows = log.map(([at, kind, route, text]) => {
    const row = document.createElement('tr');
    row.dataset.kind = kind;
    const time = document.createElement('button');
    time.type = 'button';
    time.textContent = formatTime(at);
    const short = shortTokens(text);
    for (const content of [time, route, short]) {
      const cell = document.createElement('td');
      cell.append(content);
      if (content === short && short !== text) cell.title = text;
      row.append(cell);
    }
    row.addEventListener('click', () => {
      markRow(timeline, rows.indexOf(row), false);
      timeline.point(at);
    });
    return row;
  });
  table.tBodies[0].replaceChildren(...rows);
  timeline.log = rows;
  const [violation] = timeline.track.jump_targets;
  if (violation) markNearest(timeline, violation.from_ns);
}

// Links the times of a story to the timeline and the log.
function linkStories(details, timeline) {
  details.querySelectorAll('.story time').forEach((time) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = time.textContent;
    button.addEventListener('click', () => {
      const at = Number(time.closest('li').dataset.at ?? parseFloat(time.textContent) * 1e9);
      markNearest(timeline, at);
      timeline.point(at);
    });
    time.replaceChildren(button);
  });
}

function markRow(timeline, index, scrolls) {
  const row = timeline.log[index], box = row.closest('.log-box');
  timeline.log.forEach((other) => other.classList.toggle('is-here', other === row));
  if (scrolls) box.scrollTop = row.offsetTop - box.clientHeight / 2;
}

// Marks the row nearest to a time. Returns false if there is no log.
function markNearest(timeline, time) {
  const { log } = timeline.track;
  if (!timeline.log || !log.length) return false;
  const after = firstIndex(0, log.length, (i) => log[i][0] >= time);
  const nearer = after > 0 && (after === log.length || time - log[after - 1][0] < log[after][0] - time);
  markRow(timeline, nearer ? after - 1 : after, true);
  return true;
}

// Shows the row for a click in the timeline.
function showRow(timeline, time) {
  if (!markNearest(timeline, time)) return;
  timeline.cursor = time;
  timeline.requestDraw();
}
