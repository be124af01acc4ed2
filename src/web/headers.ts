// What every page is sent with: nothing runs but our own script, nobody frames, refers, stores or indexes it.

const policy = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self'",
  'connect-src': "'self'",
  'form-action': "'self'",
  'base-uri': "'none'",
  'frame-ancestors': "'none'",
  'require-trusted-types-for': "'script'",
  'trusted-types': "'none'",
}

const unused = ['camera', 'microphone', 'geolocation', 'payment', 'usb', 'display-capture', 'clipboard-read']

export const pageHeaders: Record<string, string> = {
  'content-security-policy': Object.entries(policy)
    .map(([name, sources]) => `${name} ${sources}`)
    .join('; '),
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'permissions-policy': unused.map((feature) => `${feature}=()`).join(', '),
  'x-robots-tag': 'noindex, nofollow',
}
