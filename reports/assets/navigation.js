// Opens the evidence of cells, and copies commands to the clipboard.

async function openCell(hash, scroll) {
  const target = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
  if (target && target.matches('details.fold')) target.open = true;
  const link = Array.from(document.querySelectorAll('a[data-index]')).find((it) => it.hash === hash);
  const details = link && await evidence(Number(link.dataset.index));
  if (!details) return;
  details.open = true;
  if (scroll) details.scrollIntoView({ block: 'start' });
  details.querySelector('summary').focus({ preventScroll: true });
}

async function copy(button, text, source) {
  const label = button.textContent;
  let words = 'Copied';
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without a clipboard, select the text so that the reader can copy it.
    const range = document.createRange();
    range.selectNodeContents(source);
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
    button.addEventListener('click', () => copy(button, button.dataset.command, button.parentElement.querySelector('code')));
  });
  place.querySelectorAll('button.copy-text').forEach((button) => {
    const details = button.closest('.cell-details');
    button.hidden = !details.querySelector('.story');
    button.addEventListener('click', () => copy(button, asText(details), details.querySelector('.answer')));
  });
}

// Returns the answer of a cell as text: what happened, whose fault it is, the remedy, the story and the command.
function asText(details) {
  const text = (selector) => Array.from(details.querySelectorAll(selector), (it) => it.textContent.trim().replace(/\s+/g, ' '));
  const command = details.querySelector('.command .copy');
  const parts = [text('.who'), text('.answer h2'), text('.answer .fault'), [''], text('.story li'), [''], [command ? command.dataset.command : '']];
  return `${parts.flat().join('\n').trim()}\n`;
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

