// From the matrix to the evidence, and from a command to the clipboard.

function openCell(hash, scroll) {
  if (!/^#cell-\d+$/.test(hash)) return;
  const exhibit = document.getElementById(hash.slice(1));
  if (!exhibit) return;
  exhibit.open = true;
  if (scroll) exhibit.scrollIntoView({ block: 'start' });
  exhibit.querySelector('summary').focus({ preventScroll: true });
}

// Arrow keys walk over the tiles of a table, as in any grid.
function walkMatrix(event) {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  const cell = event.target.closest('td');
  if (!step || !cell || event.altKey || event.ctrlKey || event.metaKey) return;
  const rows = Array.from(cell.closest('tbody').rows);
  let row = rows.indexOf(cell.parentElement);
  let column = cell.cellIndex;
  do {
    row += step[0];
    column += step[1];
    const found = rows[row] && rows[row].cells[column];
    if (!found || column === 0) return;
    const tile = found.querySelector('.tile');
    if (tile) {
      event.preventDefault();
      tile.focus();
      return;
    }
  } while (true);
}

async function copyCommand(button) {
  const said = button.textContent;
  let words = 'Copied';
  try {
    await navigator.clipboard.writeText(button.dataset.command);
  } catch {
    // Without a clipboard the text is selected, for the reader's own keys.
    const range = document.createRange();
    range.selectNodeContents(button.parentElement.querySelector('code'));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    words = 'Selected';
  }
  button.textContent = words;
  setTimeout(() => { button.textContent = said; }, 1500);
}

function startNavigation() {
  addEventListener('hashchange', () => openCell(location.hash, true));
  document.querySelectorAll('a.tile').forEach((tile) => {
    // A second click on the same cell changes no hash, and must still lead there.
    tile.addEventListener('click', () => openCell(tile.getAttribute('href'), true));
  });
  document.querySelectorAll('table.matrix').forEach((table) => {
    table.addEventListener('keydown', walkMatrix);
  });
  document.querySelectorAll('button.copy').forEach((button) => {
    button.hidden = false;
    button.addEventListener('click', () => copyCommand(button));
  });
  // On paper nothing can be opened: what was violated is printed with its story.
  let opened = [];
  addEventListener('beforeprint', () => {
    opened = Array.from(document.querySelectorAll('.exhibit:not([open])'))
      .filter((exhibit) => exhibit.querySelector('.story'));
    opened.forEach((exhibit) => { exhibit.open = true; });
  });
  addEventListener('afterprint', () => opened.forEach((exhibit) => { exhibit.open = false; }));
  openCell(location.hash, true);
}

