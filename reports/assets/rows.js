// The rows besides the lanes: faults, overlaps, stock, fencing tokens, and the time axis.

function faultRow(faults) {
  // Put each fault into the first line in which it overlaps no other one.
  const ends = [];
  for (const fault of faults) {
    let line = ends.findIndex((end) => end < fault.from_ns);
    if (line < 0) line = ends.length < 4 ? ends.length : 3;
    ends[line] = fault.to_ns;
    fault.line = line;
  }
  const step = 17;
  return {
    label: 'faults', height: Math.max(1, ends.length) * step + 6,
    draw(pen, top, view, colours) {
      pen.font = '12px system-ui, sans-serif';
      for (const fault of faults) {
        if (fault.to_ns < view.from || fault.from_ns > view.to) continue;
        const left = Math.max(view.x(fault.from_ns), view.left), right = Math.min(view.x(fault.to_ns), view.right);
        const width = Math.max(3, right - left), y = top + 3 + fault.line * step;
        pen.fillStyle = colours.hatch.fault;
        pen.fillRect(left, y, width, step - 3);
        pen.strokeStyle = colours.fault;
        pen.lineWidth = 1;
        pen.strokeRect(left + 0.5, y + 0.5, Math.max(2, width - 1), step - 4);
        label(pen, fault.kind, left, y, width, step - 3, view, colours);
      }
    },
    // Draws faults faintly through all lanes, so that cause and effect line up.
    behind(pen, top, bottom, view, colours) {
      pen.globalAlpha = 0.09;
      pen.fillStyle = colours.fault;
      for (const fault of faults) {
        if (fault.to_ns < view.from || fault.from_ns > view.to) continue;
        const left = Math.max(view.x(fault.from_ns), view.left), right = Math.min(view.x(fault.to_ns), view.right);
        pen.fillRect(left, top, Math.max(2, right - left), bottom - top);
      }
      pen.globalAlpha = 1;
    },
    at(time, reach, down) {
      const line = Math.floor((down - 3) / step);
      const near = faults.filter((fault) => fault.from_ns - reach <= time && time <= fault.to_ns + reach);
      const here = near.filter((fault) => fault.line === line);
      return (here.length ? here : near).map((fault) => (fault.to_ns > fault.from_ns
        ? `${fault.detail}: ${formatTime(fault.from_ns)} to ${formatTime(fault.to_ns)}`
        : `${fault.detail}: ${formatTime(fault.from_ns)}`));
    },
  };
}

// Draws a label on its own background, inside its item or next to it.
function label(pen, word, left, y, width, height, view, colours) {
  const size = pen.measureText(word).width + 6;
  const inside = size <= width - 2;
  let x = inside ? left + 2 : left + width + 2;
  if (x + size > view.right) x = Math.max(view.left, left - size - 2);
  if (inside) {
    pen.fillStyle = colours.surface;
    pen.fillRect(x, y + 1.5, size, height - 3);
  }
  pen.fillStyle = colours.ink;
  pen.fillText(word, x + 3, y + height - 4);
}

function overlapRow(track) {
  const height = 18;
  return {
    label: 'overlap', height,
    draw(pen, top, view, colours) {
      const spans = track.overlaps;
      let at = firstIndex(0, spans.length, (i) => spans[i][1] > view.from);
      let drawn = -1;
      for (; at < spans.length && spans[at][0] < view.to; at++) {
        const left = Math.max(view.x(spans[at][0]), view.left - 2);
        const width = Math.max(2, Math.min(view.x(spans[at][1]), view.right) - left);
        if (left + width <= drawn) continue;
        drawn = left + width;
        pen.fillStyle = colours.overlap;
        pen.fillRect(left, top + 3, width, height - 6);
        pen.font = '12px system-ui, sans-serif';
        // A narrow overlap has its length beside it, unless the next one begins there.
        const length = span(spans[at][1] - spans[at][0]);
        const words = [`both inside: ${length}`, length];
        const word = words.find((it) => pen.measureText(it).width + 12 <= width);
        const next = spans[at + 1] ? view.x(spans[at + 1][0]) : Infinity;
        if (word) {
          const size = pen.measureText(word).width + 6;
          label(pen, word, left + (width - size) / 2 - 2, top + 1, size + 4, height - 2, view, colours);
        } else if (next - left - width > pen.measureText(length).width + 10) {
          label(pen, length, left, top + 1, width, height - 2, view, colours);
        }
      }
    },
    // Draws overlaps faintly through all lanes, so that cause and effect line up.
    behind(pen, top, bottom, view, colours) {
      pen.globalAlpha = 0.1;
      pen.fillStyle = colours.overlap;
      for (const [from, to] of track.overlaps) {
        if (to < view.from || from > view.to) continue;
        const left = Math.max(view.x(from), view.left), right = Math.min(view.x(to), view.right);
        pen.fillRect(left, top, Math.max(2, right - left), bottom - top);
      }
      pen.globalAlpha = 1;
    },
    at(time, reach) {
      const spans = track.overlaps;
      const index = firstIndex(0, spans.length, (i) => spans[i][1] + reach >= time);
      if (index >= spans.length || spans[index][0] - reach > time) return [];
      const [from, to] = spans[index];
      const inside = track.lanes.filter((lane) => lane.together.some((span) => span[0] < to && span[1] > from));
      const who = inside.slice(0, 8).map((lane) => `client ${lane.worker}`).join(', ');
      return [`overlapping holds for ${span(to - from)}: ${who}`, `${formatTime(from, to - from)} to ${formatTime(to, to - from)}`];
    },
  };
}

// Returns a function that maps a value to its height in a row with its own scale.
function scale(top, height, low, high) {
  const pad = 7, room = height - 2 * pad, range = Math.max(1, high - low);
  return (value) => top + pad + room * (1 - (value - low) / range);
}

function scaleNumbers(pen, y, values, view, colours) {
  pen.font = '12px system-ui, sans-serif';
  pen.textAlign = 'right';
  pen.fillStyle = colours.muted;
  for (const value of new Set(values)) pen.fillText(short(value), view.left - 6, y(value) + 4);
  pen.textAlign = 'left';
}

// Returns the steps of a line in the window, with the value at its start.
function stepsIn(points, view) {
  const first = Math.max(0, firstIndex(0, points.length, (i) => points[i].at > view.from) - 1);
  return points.slice(first, firstIndex(first, points.length, (i) => points[i].at > view.to));
}

function stockRow(track) {
  const height = 74, dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3], [12, 4], [1, 4]];
  return {
    label: 'stock', height,
    draw(pen, top, view, colours) {
      const shown = track.stock.map((line) => stepsIn(line.points, view));
      // Scale to the values in the window, and to 0.
      let low = 0, high = 1;
      for (const { value } of shown.flat()) [low, high] = [Math.min(low, value), Math.max(high, value)];
      const y = scale(top, height, low, high);
      if (low < 0) {
        pen.fillStyle = colours.overlap;
        pen.globalAlpha = 0.12;
        pen.fillRect(view.left, y(0), view.right - view.left, y(low) - y(0));
        pen.globalAlpha = 1;
      }
      pen.strokeStyle = colours.line;
      pen.lineWidth = 1;
      pen.setLineDash([]);
      pen.beginPath();
      pen.moveTo(view.left, Math.round(y(0)) + 0.5);
      pen.lineTo(view.right, Math.round(y(0)) + 0.5);
      pen.stroke();
      shown.forEach((points, index) => {
        pen.setLineDash(dashes[index % dashes.length]);
        steps(pen, points, y, view, colours);
        pen.setLineDash([]);
        stepValues(pen, points, y, view, colours);
      });
    },
    at(time) {
      return track.stock.map((line) => {
        const after = firstIndex(0, line.points.length, (i) => line.points[i].at > time);
        const key = line.key === null ? '' : ` of ${track.keys[line.key] ?? line.key}`;
        return `stock${key}: ${line.points[Math.max(0, after - 1)].value}`;
      });
    },
  };
}

function steps(pen, points, y, view, colours) {
  pen.strokeStyle = colours.accent;
  pen.lineWidth = 1.8;
  pen.beginPath();
  let height = y(points[0].value);
  pen.moveTo(view.left, height);
  for (const { at, value } of points.slice(1)) {
    pen.lineTo(view.x(at), height);
    height = y(value);
    pen.lineTo(view.x(at), height);
  }
  pen.lineTo(view.right, height);
  pen.stroke();
}

// Writes the values at their steps, where there is room.
function stepValues(pen, points, y, view, colours) {
  pen.font = '12px system-ui, sans-serif';
  let free = -Infinity;
  points.forEach(({ at, value }, index) => {
    const word = short(value), width = pen.measureText(word).width;
    let x = Math.max(view.x(at), view.left) + 4;
    if (!points[index + 1] && x + width > view.right) x -= width + 8; // The last value also fits before its step.
    const next = points[index + 1] ? view.x(points[index + 1].at) : view.right;
    if (x < free || x + width > next) return;
    pen.fillStyle = value < 0 ? colours.overlap : colours.ink;
    pen.fillText(word, x, value <= 0 ? y(value) - 3 : y(value) + 13);
    free = x + width + 8;
  });
}

function fenceRow(track) {
  const { points } = track.fences, height = 62;
  return {
    label: 'tokens', height, numbered: true,
    draw(pen, top, view, colours) {
      // Scale to the visible points: otherwise a window of a long run would be a flat line.
      const first = firstIndex(0, points.length, (i) => points[i].at >= view.from);
      const after = firstIndex(first, points.length, (i) => points[i].at > view.to);
      const shown = points.slice(first, after);
      if (!shown.length) return;
      const values = shown.map((point) => point.value);
      const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
      const y = scale(top, height, low, high);
      scaleNumbers(pen, y, [high, low], view, colours);
      for (const { at, value, stale } of shown) {
        pen.fillStyle = stale ? colours.overlap : colours.accent;
        pen.beginPath();
        if (stale) pen.rect(view.x(at) - 4, y(value) - 4, 8, 8);
        else pen.arc(view.x(at), y(value), 3, 0, 7);
        pen.fill();
      }
    },
    at(time, reach) {
      const index = firstIndex(0, points.length, (i) => points[i].at + reach >= time);
      const point = points[index];
      if (!point || point.at - reach > time) return [];
      return [`fencing token ${point.value}${point.stale ? ', did not increase' : ''}`, formatTime(point.at)];
    },
  };
}

function axisRow() {
  const height = 26;
  return {
    label: '', height,
    ticks(view) {
      const room = Math.max(2, Math.floor((view.right - view.left) / 96));
      const step = roundStep((view.to - view.from) / room);
      const ticks = [];
      for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) ticks.push(at);
      return { step, ticks };
    },
    behind(pen, top, bottom, view, colours) {
      pen.strokeStyle = colours.line;
      pen.lineWidth = 1;
      pen.beginPath();
      for (const at of this.ticks(view).ticks) {
        const x = Math.round(view.x(at)) + 0.5;
        pen.moveTo(x, top);
        pen.lineTo(x, bottom);
      }
      pen.stroke();
    },
    draw(pen, top, view, colours) {
      const { step, ticks } = this.ticks(view);
      const decimals = Math.max(0, Math.ceil(9 - Math.log10(step) - 1e-9));
      pen.font = '12px system-ui, sans-serif';
      pen.fillStyle = colours.muted;
      pen.textAlign = 'center';
      for (const at of ticks) {
        const word = `${(at / 1e9).toFixed(Math.min(9, decimals))} s`;
        const half = pen.measureText(word).width / 2;
        pen.fillText(word, Math.min(Math.max(view.x(at), view.left + half), view.right - half), top + 16);
      }
      pen.textAlign = 'left';
    },
    at: () => [],
  };
}

