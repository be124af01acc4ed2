// The icon of a page that says how many wait.

/** One digit is all there is room for. */
export const badges = ['1', '2', '3', '4', '5', '6', '7', '8', '9', 'many']

export function iconFor(count: number): string {
  return count === 0 ? '/assets/holdpoint.svg' : badgedPath(count > 9 ? 'many' : String(count))
}

export function badgedPath(badge: string): string {
  return `/assets/waiting-${badge}.svg`
}

/** The icon, which is SVG, with the badge upon it. */
export function badgedIcon(icon: string, badge: string): string {
  const label = badge === 'many' ? '9+' : badge
  const size = label.length === 1 ? 17 : 13
  return icon.replace(
    '</svg>',
    `<circle cx="21.5" cy="21.5" r="10.5" fill="#b3261e"/>
<text x="21.5" y="${21.5 + size * 0.36}" font-family="sans-serif" font-size="${size}" font-weight="700" fill="#ffffff" text-anchor="middle">${label}</text>
</svg>`,
  )
}
