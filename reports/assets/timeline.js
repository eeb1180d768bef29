// A timeline: its rows, its time window, and its drawing.

class Timeline {
  constructor(element, track) {
    this.element = element;
    this.track = track;
    this.canvas = element.querySelector('canvas');
    this.end = Math.max(1, track.end_ns);
    this.from = 0;
    this.to = this.end;
    this.moments = [];
    this.everyNode = false;
    this.rows = this.makeRows();
    this.chosen = -1;
    this.cursor = null;
    this.target = -1;
    this.messages = false;
    this.frame = 0;
    this.colours = palette();
    this.whole();
  }

  makeRows() {
    const { track } = this;
    const rows = [];
    if (track.faults.length) rows.push(faultRow(track.faults));
    const eventful = track.nodes.filter((node) => this.everyNode || node.spans.length || node.clock.length);
    for (const node of eventful) rows.push(nodeRow(node, eventful.length > 12 ? 14 : 20));
    const height = Math.max(5, Math.min(30, Math.floor(640 / Math.max(1, track.lanes.length))));
    track.lanes.forEach((lane, index) => rows.push(clientRow(track, lane, index, height)));
    if (track.overlaps.length) rows.push(overlapRow(track));
    rows.push(...valueRows(track, this.everyNode));
    if (track.stock.length) rows.push(stockRow(track));
    if (track.fences) rows.push(fenceRow(track));
    rows.push(axisRow());
    let top = this.moments.length ? 24 : 4;
    for (const row of rows) {
      row.top = top;
      top += row.height + (row.lane && row.height < 12 ? 0 : 2);
    }
    this.height = top + 2;
    return rows;
  }

  // Returns the window with functions that convert between times and positions on the canvas.
  view() {
    const left = this.width < 520 ? 58 : 84, right = this.width - 8;
    const rate = (right - left) / (this.to - this.from);
    return {
      from: this.from, to: this.to, left, right,
      x: (time) => left + (time - this.from) * rate,
      time: (x) => this.from + (x - left) / rate,
      perPixel: 1 / rate,
    };
  }

  whole() {
    const margin = this.end * 0.01;
    this.show(-margin, this.end + margin);
  }

  show(from, to) {
    const min = 50, max = this.end * 1.04;
    let length = Math.min(Math.max(to - from, min), max);
    let start = (from + to) / 2 - length / 2;
    start = Math.min(Math.max(start, -this.end * 0.02), this.end * 1.02 - length);
    this.from = start;
    this.to = start + length;
    this.requestDraw();
  }

  zoom(factor, around) {
    const centre = around ?? (this.from + this.to) / 2;
    this.show(centre - (centre - this.from) * factor, centre + (this.to - centre) * factor);
  }

  // Shows a time, zoomed in far enough to distinguish it from its neighbours.
  point(time) {
    const half = Math.min((this.to - this.from) / 2, Math.max(this.track.ttl_ns * 0.1, 1000));
    this.cursor = time;
    this.show(time - half, time + half);
  }

  // Numbers the deciding moments of the story, and shows the part of a long run from its first line to its last one.
  number(moments, times) {
    // Two stories may have the same line.
    this.moments = [...new Map(moments.map((moment) => [moment.number, moment])).values()].sort((a, b) => a.at - b.at);
    this.rows = this.makeRows();
    if (!times.length) return;
    const first = Math.min(...times), last = Math.max(...times);
    const margin = Math.max((last - first) * 0.1, this.track.ttl_ns * 0.1);
    if (last - first + 2 * margin < this.end * 0.85) this.show(first - margin, last + margin);
  }

  toggleNodes() {
    const button = this.element.querySelector('[data-do="nodes"]');
    this.everyNode = !this.everyNode;
    button.setAttribute('aria-pressed', String(this.everyNode));
    this.rows = this.makeRows();
    this.chosen = -1;
    this.width = 0;
    this.requestDraw();
  }

  pan(share) {
    const step = (this.to - this.from) * share;
    this.show(this.from + step, this.to + step);
  }

  // Several requests within one frame cause a single drawing.
  requestDraw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  fit() {
    const width = this.canvas.parentElement.clientWidth;
    const sharp = window.devicePixelRatio || 1;
    if (!width) return false;
    if (width !== this.width || sharp !== this.sharp) {
      this.width = width;
      this.sharp = sharp;
      this.canvas.style.height = `${this.height}px`;
      this.canvas.width = Math.round(width * sharp);
      this.canvas.height = Math.round(this.height * sharp);
    }
    return true;
  }

  draw() {
    if (!this.fit()) return;
    const pen = this.canvas.getContext('2d'), view = this.view(), { colours } = this;
    pen.setTransform(this.sharp, 0, 0, this.sharp, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    const bottom = this.height - 28;
    pen.save();
    pen.beginPath();
    pen.rect(view.left, 0, view.right - view.left, this.height);
    pen.clip();
    for (const row of this.rows) if (row.behind) row.behind(pen, 2, bottom, view, colours);
    pen.restore();
    this.labels(pen, view);
    for (const row of this.rows) {
      pen.save();
      pen.beginPath();
      pen.rect(row.numbered ? 0 : view.left, row.top, view.right - (row.numbered ? 0 : view.left), row.height);
      pen.clip();
      row.draw(pen, row.top, view, colours);
      pen.restore();
    }
    this.arrows(pen, view, bottom);
    this.numbers(pen, view, bottom);
    this.marker(pen, view, bottom);
    // The window in nanoseconds, for scripts outside the page.
    this.element.dataset.from = this.from;
    this.element.dataset.to = this.to;
  }

  labels(pen, view) {
    const narrow = this.width < 520;
    pen.font = `12px system-ui, sans-serif`;
    let free = -9;
    this.rows.forEach((row, index) => {
      if (!row.label || row.top < free) return;
      const height = row.height;
      pen.fillStyle = index === this.chosen ? this.colours.accent : this.colours.muted;
      pen.fillText(narrow ? row.label.replace(/^node /, 'n ') : row.label, 2, row.top + Math.max(height / 2 + 4, 9));
      if (row.who !== undefined && this.track.values.length) {
        pen.fillStyle = this.colours.ofClient(row.who);
        pen.fillRect(view.left - 6, row.top + 1, 3, height - 2);
      }
      // Label only some of the lanes that are too thin for text.
      free = row.top + (row.height < 12 ? 14 : 0);
    });
    if (this.chosen >= 0) {
      const row = this.rows[this.chosen];
      pen.strokeStyle = this.colours.accent;
      pen.lineWidth = 1;
      pen.strokeRect(view.left - 0.5, row.top - 0.5, view.right - view.left + 1, row.height + 1);
    }
  }

  arrows(pen, view, bottom) {
    if (!this.messages) return;
    pen.save();
    pen.beginPath();
    pen.rect(view.left, 0, view.right - view.left, bottom);
    pen.clip();
    const count = drawMessages(pen, this, view, this.colours);
    pen.restore();
    this.element.querySelector('.many').textContent = count < MAX_ARROWS
      ? `${count} messages` : `${count} messages: zoom in until there are fewer than ${MAX_ARROWS}`;
  }

  toggleMessages() {
    const button = this.element.querySelector('[data-do="messages"]');
    if (!button) return;
    this.messages = !this.messages;
    button.setAttribute('aria-pressed', String(this.messages));
    this.element.querySelector('.many').textContent = '';
    this.requestDraw();
  }

  // Draws the numbers of the story's moments above the rows, each with a line through them.
  numbers(pen, view, bottom) {
    let free = -Infinity;
    pen.textAlign = 'center';
    pen.font = 'bold 12px system-ui, sans-serif';
    for (const { at, number } of this.moments) {
      const x = view.x(at);
      if (x < view.left || x > view.right) continue;
      const centre = Math.min(Math.max(x, free + 19), view.right - 8);
      // Without room near its time, a number would suggest another time.
      if (centre - x > 40 || centre < free + 12) continue;
      free = centre;
      pen.strokeStyle = this.colours.muted;
      pen.lineWidth = 1;
      pen.setLineDash([2, 3]);
      pen.beginPath();
      pen.moveTo(x, 20);
      pen.lineTo(x, bottom);
      pen.stroke();
      pen.setLineDash([]);
      pen.fillStyle = this.colours.ink;
      pen.beginPath();
      pen.arc(centre, 11, 9, 0, 7);
      pen.fill();
      pen.fillStyle = this.colours.surface;
      pen.fillText(String(number), centre, 15);
    }
    pen.textAlign = 'start';
  }

  // Marks the target of the last jump, and the cursor.
  marker(pen, view, bottom) {
    const target = this.track.jump_targets[this.target];
    pen.strokeStyle = this.colours.overlap;
    pen.lineWidth = 1.5;
    if (target && target.from_ns >= view.from && target.from_ns <= view.to) {
      const x = view.x(target.from_ns);
      pen.setLineDash([4, 3]);
      pen.strokeRect(x, 1, Math.max(0.1, view.x(target.to_ns) - x), bottom - 1);
      pen.setLineDash([]);
    }
    if (this.cursor !== null && this.cursor >= view.from && this.cursor <= view.to) {
      pen.strokeStyle = this.colours.accent;
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(view.x(this.cursor), 1);
      pen.lineTo(view.x(this.cursor), bottom);
      pen.stroke();
    }
  }

  rowAt(y) {
    return this.rows.find((row) => y >= row.top && y < row.top + row.height);
  }

  // Shows the next or the previous violation with enough context.
  jump(step) {
    const targets = this.track.jump_targets;
    if (!targets.length) {
      this.announce('No violation in this run.');
      return;
    }
    this.target = this.target < 0 && step < 0 ? targets.length - 1 : (this.target + step + targets.length) % targets.length;
    const target = targets[this.target];
    const length = target.to_ns - target.from_ns, near = this.track.ttl_ns * 0.35;
    const margin = Math.max(1000, length ? Math.max(length * 0.8, Math.min(near, length * 6)) : near);
    this.show(target.from_ns - margin, target.to_ns + margin);
    markNearest(this, target.from_ns);
    this.announce(`${this.target + 1} of ${targets.length}: ${formatTime(target.from_ns)}, ${target.words}`);
  }

  announce(words) {
    this.element.querySelector('.jump-status').textContent = words;
  }
}

