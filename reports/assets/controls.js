// Wheel, fingers, mouse and keys.

function control(timeline) {
  const { element, canvas } = timeline;
  const doing = {
    previous: () => timeline.jump(-1),
    next: () => timeline.jump(1),
    in: () => timeline.zoom(0.5),
    out: () => timeline.zoom(2),
    messages: () => timeline.toggleMessages(),
    nodes: () => timeline.toggleNodes(),
    all: () => { timeline.target = -1; timeline.announce(''); timeline.whole(); },
  };
  element.querySelector('.tools').addEventListener('click', (event) => {
    const button = event.target.closest('[data-do]');
    if (button) doing[button.dataset.do]();
  });
  controlKeys(timeline, doing);
  controlWheel(timeline);
  controlPointers(timeline);
  canvas.addEventListener('pointerleave', hideTip);
  canvas.addEventListener('blur', () => {
    timeline.chosen = -1;
    timeline.cursor = null;
    timeline.requestDraw();
    hideTip();
  });
}

function controlKeys(timeline, doing) {
  const keys = {
    '+': doing.in, '=': doing.in, '-': doing.out, '_': doing.out, 0: doing.all, n: doing.next, p: doing.previous, m: doing.messages,
    ArrowLeft: () => timeline.pan(-0.2),
    ArrowRight: () => timeline.pan(0.2),
    PageUp: () => timeline.pan(-0.9),
    PageDown: () => timeline.pan(0.9),
    Home: () => timeline.show(0, timeline.to - timeline.from),
    End: () => timeline.show(timeline.end - (timeline.to - timeline.from), timeline.end),
    ArrowUp: () => chooseLane(timeline, -1),
    ArrowDown: () => chooseLane(timeline, 1),
    ',': () => walk(timeline, -1),
    '.': () => walk(timeline, 1),
    Escape: () => { hideTip(); timeline.canvas.blur(); },
  };
  timeline.canvas.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = keys[event.key];
    if (!key) return;
    event.preventDefault();
    key();
  });
}

function chooseLane(timeline, step) {
  const { rows } = timeline;
  let index = timeline.chosen < 0 ? (step > 0 ? -1 : rows.length) : timeline.chosen;
  do index += step; while (rows[index] && !rows[index].label);
  if (!rows[index]) return;
  timeline.chosen = index;
  timeline.cursor ??= (timeline.from + timeline.to) / 2;
  timeline.requestDraw();
  announceCursor(timeline);
}

// Moves the cursor to the next or the previous piece of the chosen lane.
function walk(timeline, step) {
  if (timeline.chosen < 0) {
    timeline.chosen = timeline.rows.findIndex((row) => row.walk);
    if (timeline.chosen < 0) return;
  }
  const { walk: pieces } = timeline.rows[timeline.chosen];
  if (!pieces || pieces.first === pieces.end) return;
  const { first, end, from, to } = pieces;
  const now = timeline.cursor ?? timeline.from;
  const here = firstIndex(first, end, (i) => to(i) >= now);
  const inside = here < end && from(here) <= now;
  let next = step > 0 ? (inside ? here + 1 : here) : here - 1;
  next = Math.min(Math.max(next, first), end - 1);
  timeline.cursor = (from(next) + to(next)) / 2;
  if (timeline.cursor < timeline.from || timeline.cursor > timeline.to) {
    const half = (timeline.to - timeline.from) / 2;
    timeline.show(timeline.cursor - half, timeline.cursor + half);
  }
  timeline.requestDraw();
  announceCursor(timeline);
}

// Shows and announces the item under the keyboard's cursor.
function announceCursor(timeline) {
  const row = timeline.rows[timeline.chosen], view = timeline.view();
  const lines = row.at(timeline.cursor, view.perPixel, 0);
  const words = [row.title ?? row.label, ...(lines.length ? lines : ['nothing'])];
  timeline.element.querySelector('.announcement').textContent = words.join(', ');
  const box = timeline.canvas.getBoundingClientRect();
  showTip(words, box.left + view.x(timeline.cursor), box.top + row.top + row.height);
}

function controlWheel(timeline) {
  const { canvas } = timeline;
  canvas.addEventListener('wheel', (event) => {
    // Let the page scroll until the timeline has the focus.
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
    event.preventDefault();
    hideTip();
    const view = timeline.view(), box = canvas.getBoundingClientRect();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      timeline.pan((event.deltaX || event.deltaY) / 800);
    } else {
      const rough = event.deltaMode === 1 ? event.deltaY * 30 : event.deltaY;
      timeline.zoom(2 ** (Math.max(-240, Math.min(240, rough)) / 160), view.time(event.clientX - box.left));
    }
  }, { passive: false });
}

function controlPointers(timeline) {
  const { canvas } = timeline;
  const fingers = new Map();
  let pressed = null;
  canvas.addEventListener('pointerdown', (event) => {
    fingers.set(event.pointerId, event.clientX);
    pressed = fingers.size === 1 ? event.clientX : null;
    canvas.setPointerCapture(event.pointerId);
    canvas.focus({ preventScroll: true });
  });
  const lift = (event) => fingers.delete(event.pointerId);
  canvas.addEventListener('pointerup', (event) => {
    lift(event);
    const view = timeline.view(), x = event.clientX - canvas.getBoundingClientRect().left;
    // A click, not a drag.
    if (pressed !== null && Math.abs(event.clientX - pressed) < 4 && x >= view.left && x <= view.right) showRow(timeline, view.time(x));
  });
  canvas.addEventListener('pointercancel', lift);
  canvas.addEventListener('pointermove', (event) => {
    const box = canvas.getBoundingClientRect(), view = timeline.view();
    if (!fingers.has(event.pointerId)) {
      pointAt(timeline, view, event.clientX - box.left, event.clientY - box.top, event);
      return;
    }
    hideTip();
    const before = Array.from(fingers.values());
    fingers.set(event.pointerId, event.clientX);
    const after = Array.from(fingers.values());
    if (after.length === 2) {
      const spread = Math.abs(before[0] - before[1]) / Math.max(8, Math.abs(after[0] - after[1]));
      timeline.zoom(spread, view.time((after[0] + after[1]) / 2 - box.left));
    } else {
      const moved = (before[0] - after[0]) * view.perPixel;
      timeline.show(timeline.from + moved, timeline.to + moved);
    }
  });
}

function pointAt(timeline, view, x, y, event) {
  const row = timeline.rowAt(y);
  if (!row || x < view.left || x > view.right) {
    hideTip();
    return;
  }
  const lines = row.at(view.time(x), view.perPixel * 3, y - row.top);
  if (lines.length) showTip([row.title ?? row.label, ...lines], event.clientX, event.clientY);
  else hideTip();
}

const tip = document.getElementById('tip');
// The position of the tip refers to the old size of the window.
addEventListener('resize', hideTip);

function showTip(lines, x, y) {
  tip.replaceChildren(...lines.map((line, index) => {
    const part = document.createElement(index ? 'div' : 'b');
    part.textContent = line;
    return part;
  }));
  tip.hidden = false;
  // Its previous position would make it narrow.
  tip.style.left = '0';
  const left = Math.min(x + 12, innerWidth - tip.offsetWidth - 8);
  const below = y + 14 + tip.offsetHeight < innerHeight;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${below ? y + 14 : Math.max(8, y - tip.offsetHeight - 14)}px`;
}

function hideTip() {
  tip.hidden = true;
}

