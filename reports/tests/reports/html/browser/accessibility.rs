//! Accessibility of a page: the WCAG rules that a script can check.
//!
//! These are names of controls, headers of tables, one first-level heading and no skipped level, unique ids,
//! the language, the contrast of text, and a place in the focus order for everything that can be scrolled or
//! operated.

use super::Sheet;

const SCRIPT: &str = r##"(() => {
  const faults = [];
  const report = (element, what) => faults.push(`${what}: ${element.outerHTML.slice(0, 120)}`);
  const all = (selector) => [...document.querySelectorAll(selector)].filter((it) => it.checkVisibility());
  const name = (it) => (it.getAttribute('aria-label') || it.labels?.[0]?.textContent || it.textContent
    || it.title || '').trim();
  all('a[href], button, input, select, [role=region], [role=img], [role=application]').forEach((it) => {
    if (!name(it)) report(it, 'no name');
  });
  // Voice-control users activate a control by its visible text, so its name must contain that text.
  all('a[aria-label], button[aria-label]').forEach((it) => {
    const words = it.textContent.replace(/[^\p{L}\p{N} ]/gu, '').trim().toLowerCase();
    if (!it.ariaLabel.toLowerCase().includes(words)) report(it, 'name lacks the visible text');
  });
  all('table').forEach((table) => {
    if (!table.querySelector('th')) report(table, 'a table without headers');
    table.querySelectorAll('thead th').forEach((th) => {
      if (!th.textContent.trim()) report(th, 'a header without text');
      if (th.scope !== 'col') report(th, 'a header without scope');
    });
  });
  const levels = all('h1, h2, h3, h4').map((it) => Number(it.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1) faults.push('not one h1');
  levels.forEach((level, i) => { if (i && level > levels[i - 1] + 1) faults.push(`h${levels[i - 1]} is followed by h${level}`); });
  const ids = [...document.querySelectorAll('[id]')].map((it) => it.id);
  ids.forEach((id, i) => { if (ids.indexOf(id) !== i) faults.push(`two elements have the id ${id}`); });
  if (!document.documentElement.lang) faults.push('no language');
  if (!document.title) faults.push('no title');
  all('main *').forEach((it) => {
    const style = getComputedStyle(it);
    const scrolls = /auto|scroll/.test(style.overflowX + style.overflowY)
      && (it.scrollWidth > it.clientWidth + 1 || it.scrollHeight > it.clientHeight + 1);
    if (scrolls && it.tabIndex < 0 && !it.querySelector('a[href], button, [tabindex="0"]')) report(it, 'scrolls, but no key reaches it');
    if (it.tabIndex > 0) report(it, 'is out of the order of the focus');
  });
  const pen = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const parsed = new Map();
  const rgba = (text) => {
    if (!parsed.has(text)) {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = text;
      pen.fillRect(0, 0, 1, 1);
      parsed.set(text, [...pen.getImageData(0, 0, 1, 1).data]);
    }
    return parsed.get(text);
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (it) => {
    for (let at = it; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return rgba('white');
  };
  const seen = new Set();
  all('body *').forEach((it) => {
    const own = [...it.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || it.closest('[disabled], svg, .other') || /SCRIPT|STYLE|OPTION/.test(it.tagName)) return;
    const front = getComputedStyle(it).color, back = behind(it);
    const [one, two] = [light(rgba(front)), light(back)].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (two + 0.05);
    const key = `${front} on ${back}`;
    if (ratio < 4.5 && !seen.has(key)) {
      seen.add(key);
      report(it, `contrast ${ratio.toFixed(2)}`);
    }
  });
  return JSON.stringify(faults);
})()"##;

/// Returns the faults of the page in its current state.
pub fn faults(sheet: &Sheet) -> Vec<String> {
    let found = sheet.value(SCRIPT);
    let text = found.as_str().expect("the script gives a text");
    serde_json::from_str(text).expect("a list of texts")
}

/// Checks that the script finds the faults of a bad page.
#[test]
fn faults_of_a_bad_page_are_found() {
    let bad = "<!doctype html><html><head><title>x</title></head><body><main><h1>a</h1><h3>b</h3>\
        <a href='#a' id='t'></a><p id='t' style='color: #bbb; background: white'>pale</p><table><tr><td>1</td></tr></table>\
        <div style='overflow: auto; height: 20px; width: 40px'><p>long long long long</p></div></main></body></html>";
    let sheet = Sheet::open(&super::looks::written("faulty.html", bad), 800, 600);
    let found = faults(&sheet).join("\n");
    for fault in [
        "no name",
        "without headers",
        "h1 is followed by h3",
        "two elements have the id t",
        "no language",
        "no key reaches it",
        "contrast 1.9",
    ] {
        assert!(found.contains(fault), "{fault}: {found}");
    }
}
