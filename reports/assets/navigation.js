// From the matrix to the evidence, and from a command to the clipboard.

async function openCell(hash, scroll) {
  const found = /^#cell-(\d+)$/.exec(hash);
  if (!found) return;
  const known_bug = await evidence(Number(found[1]));
  if (!known_bug) return;
  known_bug.open = true;
  if (scroll) known_bug.scrollIntoView({ block: 'start' });
  known_bug.querySelector('summary').focus({ preventScroll: true });
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

function startCopying(place) {
  place.querySelectorAll('button.copy').forEach((button) => {
    button.hidden = false;
    button.addEventListener('click', () => copyCommand(button));
  });
}

function startNavigation() {
  addEventListener('hashchange', () => openCell(location.hash, true));
  document.addEventListener('click', (event) => {
    // A second click on the same cell changes no hash, and must still lead there.
    const tile = event.target.closest('a.tile');
    if (tile && tile.hash === location.hash) openCell(tile.hash, true);
  });
  startCopying(document);
  // On paper nothing can be opened: what is there and was violated is printed with its story.
  let opened = [];
  addEventListener('beforeprint', () => {
    opened = Array.from(document.querySelectorAll('.known_bug:not([open])'))
      .filter((known_bug) => known_bug.querySelector('.story'));
    opened.forEach((known_bug) => { known_bug.open = true; });
  });
  addEventListener('afterprint', () => opened.forEach((known_bug) => { known_bug.open = false; }));
  openCell(location.hash, true);
}

