// The evidence of a page with many cells is compressed. A cell's is unpacked and built when it is opened.

const packs = Array.from(document.querySelectorAll('script[data-first]'));
const unpacked = new Map();

// The HTML of each cell of a pack. Whatever came from outside was escaped when the page was made.
function unpack(pack) {
  if (!unpacked.has(pack)) {
    const bytes = Uint8Array.from(atob(pack.textContent), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    unpacked.set(pack, new Response(stream).json());
  }
  return unpacked.get(pack);
}

const indexOf = (known_bug) => Number(known_bug.id.slice('cell-'.length));

// The evidence of a cell, built if it is not there yet; none if there is no such cell.
async function evidence(index) {
  const known = document.getElementById(`cell-${index}`);
  if (known) return known;
  const pack = packs.findLast((one) => Number(one.dataset.first) <= index);
  if (!pack) return null;
  const html = (await unpack(pack))[index - Number(pack.dataset.first)];
  // Somebody may have asked twice while it was unpacked.
  const built = document.getElementById(`cell-${index}`);
  if (built || !html) return built;
  const known_bugs = Array.from(document.querySelectorAll('.known_bug'));
  const next = known_bugs.find((one) => indexOf(one) > index);
  if (next) next.insertAdjacentHTML('beforebegin', html);
  else document.getElementById('evidence').insertAdjacentHTML('beforeend', html);
  const known_bug = document.getElementById(`cell-${index}`);
  startKnownBug(known_bug);
  startCopying(known_bug);
  return known_bug;
}

// What an known_bug needs once it is in the page.
function startKnownBug(known_bug) {
  known_bug.addEventListener('toggle', () => { if (known_bug.open) startTimeline(known_bug); });
  if (known_bug.open) startTimeline(known_bug);
}
