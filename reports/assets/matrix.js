// The matrix: filters, collapsible families, arrow keys, and descriptions of cells on hover.

const rowsOf = (table) => Array.from(table.tBodies).flatMap((body) => Array.from(body.rows));

// Moves the focus between the cells of a table with the arrow keys.
function walkMatrix(event) {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  const cell = event.target.closest('td');
  if (!step || !cell || event.altKey || event.ctrlKey || event.metaKey) return;
  const rows = rowsOf(cell.closest('table'));
  let row = rows.indexOf(cell.parentElement);
  let column = cell.cellIndex;
  do {
    row += step[0];
    column += step[1];
    if (!rows[row] || column < 1 || column >= rows[0].closest('table').tHead.rows[0].cells.length) return;
    const found = rows[row].cells[column];
    const tile = found && !found.hidden && !rows[row].hidden && found.querySelector('.tile');
    if (tile) {
      event.preventDefault();
      tile.focus();
      return;
    }
  } while (true);
}

function fold(button) {
  const open = button.getAttribute('aria-expanded') !== 'true';
  button.setAttribute('aria-expanded', String(open));
  const [, ...rows] = button.closest('tbody').rows;
  rows.forEach((row) => row.classList.toggle('folded', !open));
}

// Shows the description of the cell or scenario under the mouse or with the focus.
function showDescription(element) {
  const tile = element.closest('.tile'), head = element.closest('th[data-about]');
  if (!tile && !head) return hideTip();
  const box = (tile ?? head).getBoundingClientRect();
  if (head) return showTip([head.textContent, head.dataset.about], box.left, box.bottom);
  const cell = tile.closest('td'), table = tile.closest('table');
  const lock = table.tHead.rows[0].cells[cell.cellIndex].textContent;
  const scenario = cell.parentElement.cells[0].textContent;
  return showTip([`${lock} in ${scenario}`, ...(tile.ariaDescription ?? tile.ariaLabel).split('; ')], box.left, box.bottom);
}

const FILTER_HASH = '#filter?';
const FILTERS = ['lock', 'scenario', 'verdict', 'mismatch'];
const filter = (name) => document.getElementById(`filter-${name}`);

function filterTable(table, wanted) {
  const locks = Array.from(table.tHead.rows[0].cells, (head, index) => index === 0
    || head.textContent.toLowerCase().includes(wanted.lock));
  Array.from(table.tHead.rows[0].cells).forEach((head, index) => { head.hidden = !locks[index]; });
  const fits = (cell) => {
    const tile = cell.querySelector('.tile');
    if (wanted.mismatch && !(tile && tile.classList.contains('unexpected'))) return false;
    if (wanted.verdict === '') return true;
    return tile ? tile.classList.contains(`tone-${wanted.verdict}`) : wanted.verdict === 'absent';
  };
  let shown = 0;
  for (const row of rowsOf(table)) {
    if (row.classList.contains('family')) continue;
    const [head, ...cells] = row.cells;
    let any = false;
    cells.forEach((cell, index) => {
      cell.hidden = !locks[index + 1];
      const fit = !cell.hidden && fits(cell);
      cell.classList.toggle('other', !fit);
      any ||= fit;
      if (fit) shown += cell.childElementCount;
    });
    row.hidden = !any || !head.textContent.toLowerCase().includes(wanted.scenario);
    if (row.hidden) shown -= cells.reduce((sum, cell) => sum + (cell.classList.contains('other') ? 0 : cell.childElementCount), 0);
  }
  for (const body of table.tBodies) {
    const [head, ...rows] = body.rows;
    if (head.classList.contains('family')) head.hidden = rows.every((row) => row.hidden);
  }
  return shown;
}

function filterMatrix() {
  const wanted = {
    lock: filter('lock').value.trim().toLowerCase(),
    scenario: filter('scenario').value.trim().toLowerCase(),
    verdict: filter('verdict').value,
    mismatch: filter('mismatch').checked,
  };
  let shown = 0;
  document.querySelectorAll('table.matrix').forEach((table) => { shown += filterTable(table, wanted); });
  const any = wanted.lock || wanted.scenario || wanted.verdict || wanted.mismatch;
  // Rows that are folded at first are unfolded as long as a filter is set.
  document.querySelectorAll('.family button[data-folded]').forEach((button) => {
    if ((button.getAttribute('aria-expanded') === 'true') !== Boolean(any)) fold(button);
  });
  document.querySelectorAll('.whose button').forEach((button) => {
    const { verdict } = button.dataset;
    button.setAttribute('aria-pressed', String(verdict === 'mismatch' ? wanted.mismatch : verdict === wanted.verdict));
  });
  saveFilter(wanted, any);
  filter('status').textContent = any ? `${shown} ${shown === 1 ? 'cell' : 'cells'}` : '';
}

// Keeps the filter in the address, so that a link shows the same cells. A page from a file may not change its address.
function saveFilter(wanted, any) {
  if (!any && !location.hash.startsWith(FILTER_HASH)) return;
  const set = Object.entries(wanted).filter(([, value]) => value);
  try {
    history.replaceState(null, '', any ? FILTER_HASH + new URLSearchParams(set) : '#matrix');
  } catch { /* the address stays */ }
}

function restoreFilter() {
  if (!location.hash.startsWith(FILTER_HASH)) return;
  const saved = new URLSearchParams(location.hash.slice(FILTER_HASH.length));
  ['lock', 'scenario', 'verdict'].forEach((name) => { filter(name).value = saved.get(name) ?? ''; });
  filter('mismatch').checked = saved.has('mismatch');
  filterMatrix();
}

// Opens the next or the previous cell with a violation.
function stepTo(step) {
  const isRed = (tile) => !tile.matches('.tone-held, .tone-absent, .tone-unknown') && !tile.closest('.other, [hidden]');
  const tiles = Array.from(document.querySelectorAll('a.tile')).filter((tile) => isRed(tile) || tile.hash === location.hash);
  const here = tiles.findIndex((tile) => tile.hash === location.hash);
  const next = tiles[here < 0 ? (step > 0 ? 0 : tiles.length - 1) : (here + step + tiles.length) % tiles.length];
  if (next) location.hash = next.hash;
}

function startSteps() {
  document.querySelectorAll('[data-step]').forEach((button) => {
    button.hidden = false;
    button.addEventListener('click', () => stepTo(Number(button.dataset.step)));
  });
}

function clearFilters() {
  filter('lock').value = '';
  filter('scenario').value = '';
  filter('verdict').value = '';
  filter('mismatch').checked = false;
  filterMatrix();
}

function startFilters() {
  const filters = document.querySelector('.filters');
  if (!filters) return;
  filters.hidden = false;
  document.querySelector('.symbols').open = !matchMedia('(max-width: 620px)').matches;
  FILTERS.forEach((name) => filter(name).addEventListener('input', filterMatrix));
  filter('clear').addEventListener('click', clearFilters);
  restoreFilter();
  // The counts are filters, too.
  document.querySelectorAll('.whose button').forEach((button) => button.addEventListener('click', () => {
    const { verdict } = button.dataset;
    if (verdict === 'mismatch') filter('mismatch').checked = !filter('mismatch').checked;
    else filter('verdict').value = filter('verdict').value === verdict ? '' : verdict;
    filterMatrix();
  }));
  document.addEventListener('keydown', (event) => {
    const types = event.target.closest('input, select, textarea');
    if (event.key === '/' && !types && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      filters.open = true;
      filter('lock').focus();
    }
    if (event.key === 'Escape' && event.target.closest('.filters, table.matrix')) {
      clearFilters();
      hideTip();
    }
  });
}

function startMatrix() {
  startFilters();
  startSteps();
  document.querySelectorAll('#matrix .box').forEach((box) => {
    const mark = () => box.classList.toggle('has-more', box.scrollLeft + box.clientWidth < box.scrollWidth - 4);
    box.addEventListener('scroll', mark, { passive: true });
    new ResizeObserver(mark).observe(box);
  });
  document.querySelectorAll('table.matrix').forEach((table) => {
    table.addEventListener('keydown', walkMatrix);
    table.addEventListener('click', (event) => {
      const button = event.target.closest('.family button');
      if (button) fold(button);
    });
    table.addEventListener('mouseover', (event) => showDescription(event.target));
    table.addEventListener('focusin', (event) => showDescription(event.target));
    table.addEventListener('mouseleave', hideTip);
    table.addEventListener('focusout', hideTip);
  });
}
