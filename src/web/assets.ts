// The files that pages refer to.
import { script } from './script.js'
import { style } from './style.js'

/** A point, held. */
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<circle cx="16" cy="16" r="13" fill="none" stroke="#5b6b7f" stroke-width="3"/>
<rect x="10.5" y="10" width="3.6" height="12" rx="1" fill="#c77d0a"/>
<rect x="17.9" y="10" width="3.6" height="12" rx="1" fill="#c77d0a"/>
</svg>
`

export const assets: Record<string, { type: string; body: string }> = {
  '/assets/holdpoint.css': { type: 'text/css; charset=utf-8', body: style },
  '/assets/holdpoint.js': { type: 'text/javascript; charset=utf-8', body: script },
  '/assets/holdpoint.svg': { type: 'image/svg+xml', body: icon },
}
