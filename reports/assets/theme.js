// The theme follows the system until the reader chooses another one.

const dark = window.matchMedia('(prefers-color-scheme: dark)');

function themeIsDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : dark.matches;
}

function themeChanged() {
  document.dispatchEvent(new Event('picklock-theme'));
}

function startTheme() {
  const root = document.documentElement;
  const button = document.getElementById('theme');
  button.hidden = false;
  const name = () => button.setAttribute('aria-pressed', String(themeIsDark()));
  // A page from a file may have no storage. The choice then lasts only as long as the page.
  try {
    const saved = localStorage.getItem('picklock-theme');
    if (saved === 'dark' || saved === 'light') root.dataset.theme = saved;
  } catch { /* no storage */ }
  button.addEventListener('click', () => {
    root.dataset.theme = themeIsDark() ? 'light' : 'dark';
    try { localStorage.setItem('picklock-theme', root.dataset.theme); } catch { /* no storage */ }
    name();
    themeChanged();
  });
  dark.addEventListener('change', () => { name(); themeChanged(); });
  name();
}

