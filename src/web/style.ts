// How the pages look: system fonts, one column, light or dark as the reader's device is.

export const style = `:root {
  --paper: #f7f7f5;
  --surface: #ffffff;
  --sunk: #f1f1ee;
  --ink: #1a1c1f;
  --quiet: #565b63;
  --rule: #dcdcd7;
  --edge: #83868c;
  --accent: #1f4f8f;
  --on-accent: #ffffff;
  --good: #14633b;
  --good-paper: #edf6f0;
  --bad: #9d1c1c;
  --bad-paper: #fcf0ef;
  --warn: #7a4a00;
  --warn-paper: #fdf4e0;
  --value: #7a2d5c;
  --sans: -apple-system, 'Segoe UI', Roboto, Cantarell, 'Noto Sans', 'Liberation Sans', Arial, sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace;
  color-scheme: light dark;
}

@media (prefers-color-scheme: dark) {
  :root {
    --paper: #131518;
    --surface: #1a1d21;
    --sunk: #22262b;
    --ink: #e9eaec;
    --quiet: #a9afb8;
    --rule: #33383f;
    --edge: #7d848e;
    --accent: #9cc3f5;
    --on-accent: #10151c;
    --good: #79d3a2;
    --good-paper: #17281f;
    --bad: #ff9d96;
    --bad-paper: #2f1b1b;
    --warn: #f0c069;
    --warn-paper: #2c2415;
    --value: #e7a8cd;
  }
}

*, ::before, ::after { box-sizing: border-box; }

html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }

body {
  margin: 0;
  background: var(--paper);
  color: var(--ink);
  font: 1rem/1.55 var(--sans);
  overflow-wrap: anywhere;
}

p, h1, h2, ul, dl, dd { margin: 0; }
ul { padding: 0; list-style: none; }
a { color: var(--accent); text-underline-offset: 0.15em; }
code, .json, .digest { font-family: var(--mono); font-size: 0.9375em; }

/* What others wrote: its own direction, its own spaces, and never higher than its place. What cannot be broken into
   lines at all is scrolled inside its block; nothing is cut off sideways. */
bdi { unicode-bidi: isolate; direction: ltr; white-space: break-spaces; overflow-wrap: anywhere; text-align: left; }
bdi bdi { direction: rtl; }
/* Where each character counts, a line is filled before the next begins: so a space is seen at its end, too. */
h1 bdi, .verbatim bdi, .json bdi { font-family: var(--mono); line-break: anywhere; }
/* In a sentence of the page its end is seen. */
p .verbatim > bdi, label .verbatim > bdi {
  padding: 0 0.25em;
  border: 1px solid var(--rule);
  border-radius: 0.25em;
  -webkit-box-decoration-break: clone;
  box-decoration-break: clone;
}
/* A line break. It is not copied, and not read out. */
bdi i::before { content: '↵'; content: '↵' / ''; color: var(--accent); font-weight: 700; font-style: normal; }
.length { color: var(--quiet); font: 0.8125rem/1.5 var(--sans); }
.description > .length { display: block; }
h1, h2, p, dd, li, legend, label, summary, .description { overflow-y: clip; overflow-clip-margin: 4px; }
h1, dl, .json, .description, .status, .notice, .votes, .pending-list, .decision { overflow-x: auto; }

mark {
  display: inline-block;
  margin: 0 0.15em;
  padding: 0 0.35em;
  border: 1px solid var(--bad);
  border-radius: 0.25em;
  background: var(--bad-paper);
  color: var(--bad);
  font: 700 0.75em/1.5 var(--mono);
  vertical-align: 0.08em;
  text-indent: 0;
  white-space: normal;
}

noscript p { margin-top: 1.5rem; font-size: 0.875rem; }
.quiet, .hint { color: var(--quiet); }
.hint { font-size: 0.875rem; }

.skip { position: absolute; left: -999rem; }
.skip:focus {
  left: 0.5rem;
  top: 0.5rem;
  z-index: 3;
  padding: 0.75rem 1rem;
  border-radius: 0.375rem;
  background: var(--accent);
  color: var(--on-accent);
}

.spoken { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
summary:focus-visible, h2 a:focus-visible { outline-offset: -3px; }
main:focus, .decision:focus, #problem:focus { outline: none; }

/* Frame */

header { border-bottom: 1px solid var(--rule); background: var(--surface); }
.bar, main { max-width: 46rem; margin: 0 auto; padding: 0 1rem; }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 1rem; min-height: 3.5rem; }
.brand { display: flex; align-items: center; gap: 0.5rem; margin-right: auto; font-weight: 600; letter-spacing: -0.01em; }
.viewer { font-size: 0.9375rem; }
.open { padding: 0.625rem max(1rem, 50% - 22rem); border-top: 1px solid var(--rule); background: var(--warn-paper); color: var(--warn); font-size: 0.9375rem; }
main { padding-top: 1.5rem; padding-bottom: 4rem; }
.back { margin-bottom: 1rem; }
.back a, .more a { display: inline-flex; align-items: center; min-height: 2.75rem; }
.back a::before { content: '←'; margin-right: 0.4em; }
.more a::after { content: '→'; margin-left: 0.4em; }

/* Headings and text */

h1 { margin: 0 0 0.75rem; font-size: 1.75rem; line-height: 1.2; letter-spacing: -0.015em; }
article h1 { margin-top: 0.75rem; font-family: var(--mono); font-size: 1.5rem; line-height: 1.35; letter-spacing: -0.02em; }
h2 { margin-bottom: 0.375rem; font-size: 1.0625rem; line-height: 1.3; }
section { margin-top: 2rem; }
.description { margin-top: 0.5rem; padding: 0.125rem 0 0.125rem 0.875rem; border-left: 3px solid var(--rule); }

.chips { display: flex; flex-wrap: wrap; gap: 0.5rem; }
.chip {
  display: inline-block;
  padding: 0.0625rem 0.625rem;
  border: 1px solid var(--rule);
  border-radius: 1rem;
  color: var(--quiet);
  font-size: 0.8125rem;
  font-weight: 600;
  line-height: 1.6;
}
.chip.pending, .chip.risk-high { border-color: currentColor; color: var(--warn); background: var(--warn-paper); }
.chip.approved, .chip.auto_approved { border-color: currentColor; color: var(--good); background: var(--good-paper); }
.chip.denied { border-color: currentColor; color: var(--bad); background: var(--bad-paper); }
.chip .mark { font-size: 0.75em; }

.left { font-variant-numeric: tabular-nums; }
.deadline .left { font-size: 1.125rem; font-weight: 600; }
.soon { color: var(--bad); font-weight: 600; }

.notice { margin-bottom: 1.25rem; padding: 0.75rem 1rem; border: 1px solid; border-left-width: 5px; border-radius: 0.375rem; }
.notice.problem { border-color: var(--bad); background: var(--bad-paper); }
.notice.changed { margin: 1rem 0; border-color: var(--warn); background: var(--warn-paper); }
.notice.done { border-color: var(--good); background: var(--good-paper); }
.notice .mark { font-weight: 700; }

.status { padding: 0.875rem 1rem; border: 1px solid var(--edge); border-left-width: 5px; border-radius: 0.375rem; background: var(--surface); }
.status p + p { margin-top: 0.25rem; }
.status .verdict, .outcome .verdict { font-size: 1.1875rem; }
/* With its heading, where it is scrolled to. */
.outcome { scroll-margin: 4rem 0 1rem; }
.status.approved, .status.auto_approved { border-color: var(--good); background: var(--good-paper); }
.status.denied { border-color: var(--bad); background: var(--bad-paper); }
.approved .mark, .auto_approved .mark, .choice.approve .mark, .notice.done .mark { color: var(--good); }
.denied .mark, .choice.deny .mark, .notice.problem .mark { color: var(--bad); }

/* Details */

.json { margin-top: 0.5rem; padding: 0.5rem 0.875rem; border: 1px solid var(--rule); border-radius: 0.375rem; background: var(--surface); line-height: 1.5; }
.json li { padding: 0.125rem 0 0.125rem 1.5rem; text-indent: -1.5rem; }
.json li > details { margin-left: -1.5rem; text-indent: 0; }
.json .block { text-indent: 0; }
.json details > ul { margin-left: 0.3125rem; padding-left: 1rem; border-left: 1px solid var(--rule); }
.json details.deep > ul { margin-left: 0; padding-left: 0; border-left: 0; }
.json summary { min-height: 1.75rem; cursor: pointer; border-radius: 0.25rem; }
.json b { color: var(--edge); font-weight: 400; }
.key { font-weight: 600; }
.key::after, .index::after { content: ':'; color: var(--quiet); font-weight: 400; }
.index, .kind { color: var(--quiet); }
.kind { font-family: var(--sans); font-size: 0.875em; }
.string { padding: 0.0625rem 0.125rem; border-radius: 0.1875rem; background: var(--sunk); -webkit-box-decoration-break: clone; box-decoration-break: clone; }
.string.block { display: block; margin: 0.125rem 0 0.25rem; padding: 0.375rem 0.5rem; }
.literal { color: var(--value); font-weight: 600; }

/* Facts and votes */

dl { border-top: 1px solid var(--rule); }
dl > div { display: grid; grid-template-columns: 9.5rem minmax(0, 1fr); gap: 0 1rem; padding: 0.4375rem 0; border-bottom: 1px solid var(--rule); }
dt { color: var(--quiet); }
.claim { color: var(--warn); }
.digest { color: var(--quiet); overflow-wrap: anywhere; }
.digest b { color: var(--ink); }

.votes li { margin-top: 0.5rem; padding: 0.625rem 0.875rem; border: 1px solid var(--rule); border-left: 5px solid; border-radius: 0.375rem; background: var(--surface); }
.votes .approved { border-left-color: var(--good); }
.votes .denied { border-left-color: var(--bad); }
.votes .quiet { font-size: 0.9375rem; }

/* Forms */

.decision { position: relative; z-index: 1; padding: 1.25rem; border: 1px solid var(--edge); border-radius: 0.5rem; background: var(--surface); }
.only-deny { margin-top: 0.75rem; }
fieldset { min-width: 0; margin: 1rem 0 0; padding: 0; border: 0; }
legend { margin-bottom: 0.5rem; padding: 0; font-weight: 600; }
.choice {
  display: grid;
  grid-template-columns: 1.5rem 1.25rem minmax(0, 1fr);
  align-items: start;
  gap: 0 0.5rem;
  min-height: 2.75rem;
  margin-top: 0.5rem;
  padding: 0.6875rem 0.875rem;
  border: 1px solid var(--edge);
  border-left-width: 5px;
  border-radius: 0.375rem;
  background: var(--surface);
  cursor: pointer;
}
.choice.approve { border-left-color: var(--good); }
.choice.deny { margin-top: 1rem; border-left-color: var(--bad); }
.choice.approve:has(:checked) { border-color: var(--good); background: var(--good-paper); }
.choice.deny:has(:checked) { border-color: var(--bad); background: var(--bad-paper); }
.choice:focus-within { outline: 3px solid var(--accent); outline-offset: 2px; }
.choice input { width: 1.25rem; height: 1.25rem; margin: 0.15rem 0 0; accent-color: var(--accent); }
.choice input:focus-visible { outline: none; }
.choice .mark { font-weight: 700; text-align: center; }
.effect { display: block; color: var(--quiet); font-size: 0.9375rem; }

form:not(:has(#choice-approve_always:checked)) .always { display: none; }
.always { margin-top: 0.75rem; padding-left: 0.875rem; border-left: 3px solid var(--good); }
.option { display: grid; grid-template-columns: 1.5rem minmax(0, 1fr); align-items: start; gap: 0 0.5rem; min-height: 2.75rem; padding: 0.5625rem 0.25rem; cursor: pointer; }
.option input { width: 1.25rem; height: 1.25rem; margin: 0.15rem 0 0; accent-color: var(--accent); }
.field-problem { margin-bottom: 0.25rem; color: var(--bad); font-weight: 600; }

.field { margin-top: 1.25rem; }
.field label { display: block; font-weight: 600; }
.need { color: var(--quiet); font-weight: 400; }
input[type='text'], input[type='password'], textarea {
  width: 100%;
  min-height: 2.75rem;
  margin-top: 0.375rem;
  padding: 0.5rem 0.75rem;
  border: 1px solid var(--edge);
  border-radius: 0.375rem;
  background: var(--surface);
  color: var(--ink);
  font: inherit;
}
input[type='text'] { font-family: var(--mono); }
textarea { resize: vertical; }
input[aria-invalid='true'], textarea[aria-invalid='true'] { border: 2px solid var(--bad); }
input[readonly], textarea[readonly] { background: var(--sunk); }

button {
  min-height: 3rem;
  margin-top: 1.25rem;
  padding: 0.625rem 1.75rem;
  border: 1px solid transparent;
  border-radius: 0.375rem;
  background: var(--accent);
  color: var(--on-accent);
  font: inherit;
  font-weight: 600;
  cursor: pointer;
}
button.small { min-height: 2.75rem; margin: 0; padding: 0.25rem 0.875rem; border-color: var(--rule); background: transparent; color: var(--ink); font-size: 0.9375rem; font-weight: 500; }
.sign-in { max-width: 26rem; }

/* The list */

.pending-list { margin-top: 1rem; border-top: 1px solid var(--rule); }
.pending-list li { padding: 0.75rem 0; border-bottom: 1px solid var(--rule); }
.pending-list h2 { margin: 0; font-family: var(--mono); font-size: 1.0625rem; }
.pending-list h2 a { display: inline-block; padding: 0.5rem 0; line-height: 1.75rem; }
.excerpt { margin-bottom: 0.375rem; }
.empty { margin-top: 1rem; }

@media (max-width: 34rem) {
  .bar { flex-wrap: nowrap; gap: 0.75rem; }
  .viewer { font-size: 0.875rem; line-height: 1.3; }
  .viewer .quiet { display: block; }
  dl > div { grid-template-columns: minmax(0, 1fr); }
  dt { font-size: 0.875rem; }
  .decision { margin-left: -1rem; margin-right: -1rem; padding: 1.25rem 1rem; border-left: 0; border-right: 0; border-radius: 0; }
  .decision button, .sign-in button { width: 100%; }
}

@media (prefers-reduced-motion: no-preference) {
  .choice, button { transition: background-color 0.12s, border-color 0.12s; }
}

@media (forced-colors: active) {
  mark, .string { border: 1px solid; }
}
`
