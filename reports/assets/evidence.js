// The evidence of a page with many cells is compressed. The details of a cell are unpacked and built when it is opened.

const packs = Array.from(document.querySelectorAll('script[data-first]'));
const unpacked = new Map();

// Returns the HTML of each cell of a pack, and the columns of their timelines. Untrusted text was escaped when the page was created.
function unpack(pack) {
  if (!unpacked.has(pack)) {
    const bytes = Uint8Array.from(atob(pack.textContent), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    unpacked.set(pack, new Response(stream).json());
  }
  return unpacked.get(pack);
}

const indexOf = (details) => Number(details.dataset.index);
const detailsOf = (index) => document.querySelector(`.cell-details[data-index="${index}"]`);

// Puts the data of a timeline into the details of its cell, as in a page of one cell.
function embedTrack(details, tracks, place) {
  if (!details.querySelector('.timeline')) return;
  const fields = Object.entries(tracks).map(([field, column]) => [field, column[place]]);
  const script = document.createElement('script');
  script.type = 'application/json';
  script.id = `track-${details.dataset.index}`;
  script.textContent = JSON.stringify(Object.fromEntries(fields));
  details.querySelector('.inside').append(script);
}

// Returns the details of a cell, which are built if they do not exist yet, or null if there is no such cell.
async function evidence(index) {
  const known = detailsOf(index);
  if (known) return known;
  const pack = packs.findLast((one) => Number(one.dataset.first) <= index);
  if (!pack) return null;
  const { html: cells, tracks } = await unpack(pack);
  const place = index - Number(pack.dataset.first);
  const html = cells[place];
  // A second request may have built them during the unpacking.
  const built = detailsOf(index);
  if (built || !html) return built;
  const all = Array.from(document.querySelectorAll('.cell-details'));
  const next = all.find((one) => indexOf(one) > index);
  if (next) next.insertAdjacentHTML('beforebegin', html);
  else document.getElementById('evidence').insertAdjacentHTML('beforeend', html);
  const details = detailsOf(index);
  embedTrack(details, tracks, place);
  startDetails(details);
  startCopying(details);
  return details;
}

// Starts the details of a cell once they are in the page.
function startDetails(details) {
  details.addEventListener('toggle', () => { if (details.open) startTimeline(details); });
  if (details.open) startTimeline(details);
}
