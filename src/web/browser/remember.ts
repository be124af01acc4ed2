// What this browser remembers for this site: where it is signed in, and in open mode the name
// that was given. Its storage belongs to one port; cookies go to every port
// of a host. A place opens nothing without the cookie of its path. Everything works without this script, too.

;(() => {
  const placeKey = 'holdpoint.place'
  /** In this tab: somebody is signing in here. */
  const signingInKey = 'holdpoint.signing-in'
  /** In this tab: the place that was gone to, as long as no page of it was seen. */
  const goingKey = 'holdpoint.going'

  /** A browser may be told to keep nothing, and then throws. */
  const kept = { always: storage('localStorage'), tab: storage('sessionStorage') }

  function storage(name: 'localStorage' | 'sessionStorage'): Storage | null {
    try {
      return window[name]
    } catch {
      return null
    }
  }

  function keep(where: Storage | null, key: string, value: string): void {
    try {
      where?.setItem(key, value)
    } catch {
      // It is full: it will be asked for again.
    }
  }

  const here = /^\/s\/[0-9a-f]{64}(?=\/)/.exec(location.pathname)?.[0] ?? null

  const isPlace = (text: string) => /^\/s\/[0-9a-f]{64}$/.test(text)

  /** Another place is taken over only where somebody has just signed in: a page that leads here must not replace it. */
  function atPlace(place: string): void {
    kept.tab?.removeItem(goingKey)
    if (document.querySelector('.sign-out') === null) return
    const hasSignedIn = kept.tab?.getItem(signingInKey) === 'yes'
    if (hasSignedIn || !kept.always?.getItem(placeKey)) keep(kept.always, placeKey, place)
    kept.tab?.removeItem(signingInKey)
    addEventListener('storage', ({ key, oldValue, newValue }) => {
      // Signed out in another tab.
      if (key === placeKey && oldValue === place && newValue === null) dispatchEvent(new Event('holdpoint:forgotten'))
    })
  }

  async function atSignIn(form: HTMLFormElement): Promise<void> {
    kept.tab?.removeItem(signingInKey)
    form.addEventListener('submit', () => keep(kept.tab, signingInKey, 'yes'))
    const place = kept.always?.getItem(placeKey) ?? null
    if (place === null) return
    // Gone to, and back again without having seen it: going once more would be for ever.
    const isGood = isPlace(place) && kept.tab?.getItem(goingKey) !== place && (await asks(place))
    if (isGood === null) return
    if (!isGood) {
      kept.tab?.removeItem(goingKey)
      kept.always?.removeItem(placeKey)
      return
    }
    const next = form.dataset.goOn
    if (next === undefined) return offerToGoOn(form, place)
    keep(kept.tab, goingKey, place)
    // Only where that can be told the next time.
    if (kept.tab?.getItem(goingKey) === place) location.replace(place + next)
  }

  /** Where there is something to read first: a link that was used, above all. */
  function offerToGoOn(form: HTMLFormElement, place: string): void {
    const next = form.querySelector<HTMLInputElement>('[name=next]')?.value
    if (next !== undefined) form.before(offerOf(place + next, 'Go on where this browser is signed in'))
  }

  function offerOf(href: string, textContent: string): HTMLElement {
    const offer = document.createElement('p')
    offer.className = 'more own-place'
    offer.append(Object.assign(document.createElement('a'), { href, textContent }))
    return offer
  }

  /** Whether this browser is signed in there; null: nobody can tell now. */
  async function asks(place: string): Promise<boolean | null> {
    try {
      const { ok, status } = await fetch(`${place}/state`, { cache: 'no-store' })
      return ok ? true : status === 401 ? false : null
    } catch {
      return null
    }
  }

  /** A link of a message belongs to whoever it was sent to; whoever is signed in here may rather decide as that. */
  async function atLink(): Promise<void> {
    const place = kept.always?.getItem(placeKey) ?? null
    if (place === null || !isPlace(place) || (await asks(place)) !== true) return
    offerPlace(place)
    addEventListener('holdpoint:shown', () => offerPlace(place))
  }

  function offerPlace(place: string): void {
    const id = document.querySelector<HTMLElement>('[data-confirmation]')?.dataset.confirmation
    if (id === undefined || document.querySelector('.own-place') !== null) return
    const offer = offerOf(`${place}/view/${encodeURIComponent(id)}`, 'Open it where this browser is signed in')
    document.querySelector('#decision .sign-in-instead')?.remove()
    document.querySelector('#decision h2')?.after(offer)
  }

  const nameKey = 'holdpoint.name'
  const nameField = () => document.querySelector<HTMLInputElement>('#your-name')
  const keptName = () => kept.always?.getItem(nameKey) ?? ''
  /** It was given before, and nobody wants to change it here. */
  let isKnown = keptName().trim() !== ''

  /** A name that is known takes one line; one that was refused is asked for again. */
  function showName(): void {
    const field = nameField()
    if (field === null) return
    if (field.getAttribute('aria-invalid') === 'true') {
      isKnown = false
      kept.always?.removeItem(nameKey)
    }
    if (field.value === '') field.value = keptName()
    const place = field.closest('.field')!
    if (isKnown && field.value === keptName() && !place.classList.contains('known')) foldName(field, place)
  }

  function foldName(field: HTMLInputElement, place: Element): void {
    const line = document.createElement('p')
    line.className = 'deciding-as'
    const words = document.createElement('span')
    const name = document.createElement('b')
    name.textContent = field.value
    words.append('Deciding as ', name)
    const change = document.createElement('button')
    change.type = 'button'
    change.className = 'small'
    change.textContent = 'Change'
    change.addEventListener('click', () => {
      isKnown = false
      line.remove()
      place.classList.remove('known')
      field.focus()
      field.select()
    })
    line.append(words, change)
    place.append(line)
    place.classList.add('known')
  }

  function rememberName(): void {
    addEventListener('input', ({ target }) => {
      const field = nameField()
      if (field !== null && target === field) keep(kept.always, nameKey, field.value)
    })
    showName()
    // The form comes anew when the page has changed.
    addEventListener('holdpoint:shown', showName)
  }

  rememberName()
  if (here !== null) atPlace(here)
  if (location.pathname.startsWith('/link/')) void atLink()
  const form = document.querySelector<HTMLFormElement>('form.sign-in')
  if (form !== null) void atSignIn(form)
})()
