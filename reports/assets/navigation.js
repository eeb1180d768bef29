// Opens the evidence of cells, and copies commands to the clipboard.

async function openCell(hash, scroll) {
  const found = /^#cell-(\d+)$/.exec(hash);
  if (!found) return;
  const details = await evidence(Number(found[1]));
  if (!details) return;
  details.open = true;
  if (scroll) details.scrollIntoView({ block: 'start' });
  details.querySelector('summary').focus({ preventScroll: true });
}

async function copyCommand(button) {
  const label = button.textContent;
  let words = 'Copied';
  try {
    await navigator.clipboard.writeText(button.dataset.command);
  } catch {
    // Without a clipboard, select the text so that the reader can copy it.
    const range = document.createRange();
    range.selectNodeContents(button.parentElement.querySelector('code'));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    words = 'Selected';
  }
  button.textContent = words;
  setTimeout(() => { button.textContent = label; }, 1500);
}

function startCopying(place) {
  place.querySelectorAll('button.copy').forEach((button) => {
    button.hidden = false;
    button.addEventListener('click', () => copyCommand(button));
  });
}

function startNavigation() {
  addEventListener('hashchange', () => openCell(location.hash, true));
  document.addEventListener('click', (event) => {
    // A second click on the same cell does not change the hash, but must still open the cell.
    const tile = event.target.closest('a[href^="#cell-"]');
    if (tile && tile.hash === location.hash) openCell(tile.hash, true);
  });
  startCopying(document);
  // Details cannot be opened on paper, so print existing details that have a story.
  let opened = [];
  addEventListener('beforeprint', () => {
    opened = Array.from(document.querySelectorAll('.cell-details:not([open])'))
      .filter((details) => details.querySelector('.story'));
    opened.forEach((details) => { details.open = true; });
  });
  addEventListener('afterprint', () => opened.forEach((details) => { details.open = false; }));
  openCell(location.hash, true);
}

