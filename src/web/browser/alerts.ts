// What the list does where nobody looks at it: a badge on the program's icon and, switched on in this browser, a sound and a
// notification. Both are off at first. It hears of news from the list's script, and never decides anything. A classic script.

;(() => {
  const place = document.getElementById('alerts')
  if (place === null || !document.querySelector('[data-state]#list')) return

  interface Words {
    /** In quotes, with nothing hidden. */
    action: string
    requester: string
  }
  interface News {
    count: number
    more: number
    come: Words[]
    missed: Words[]
  }

  /** A browser may be told to keep nothing, and then throws. */
  function isKept(name: string): boolean {
    try {
      return localStorage.getItem(`holdpoint.${name}`) === 'on'
    } catch {
      return false
    }
  }

  function keep(name: string, isOn: boolean): void {
    try {
      localStorage.setItem(`holdpoint.${name}`, isOn ? 'on' : 'off')
    } catch {
      // It is asked for again, on the next page.
    }
  }

  /** A switch. `turn` says whether it is on then, or why it cannot be. */
  function addSwitch(name: string, label: string, turn: (isOn: boolean) => Promise<true | string>): HTMLInputElement {
    const box = document.createElement('input')
    box.type = 'checkbox'
    box.id = `alert-${name}`
    const text = document.createElement('label')
    text.append(box, ` ${label}`)
    place!.append(text)
    box.addEventListener('change', () => {
      void turn(box.checked).then((result) => {
        if (result !== true) box.checked = false
        keep(name, box.checked)
        note.textContent = result === true ? '' : result
      })
    })
    addEventListener('storage', ({ key, newValue }) => {
      if (key === `holdpoint.${name}`) box.checked = newValue === 'on'
    })
    return box
  }

  const note = document.createElement('span')
  note.className = 'hint'
  note.setAttribute('role', 'status')

  // -- Sound: two short tones. Browsers let a page be heard after something was pressed on it.

  let audio: AudioContext | null = null

  async function chime(): Promise<true | string> {
    try {
      audio ??= new AudioContext()
      await Promise.race([audio.resume(), new Promise((go) => setTimeout(go, 500))])
    } catch {
      return 'This browser makes no sound here.'
    }
    if (audio.state !== 'running') return 'No sound before you press something on this page.'
    for (const [index, hertz] of [660, 880].entries()) {
      const start = audio.currentTime + index * 0.18
      const tone = audio.createOscillator()
      const volume = audio.createGain()
      tone.frequency.value = hertz
      volume.gain.setValueAtTime(0.0001, start)
      volume.gain.exponentialRampToValueAtTime(0.2, start + 0.02)
      volume.gain.exponentialRampToValueAtTime(0.0001, start + 0.16)
      tone.connect(volume).connect(audio.destination)
      tone.start(start)
      tone.stop(start + 0.17)
    }
    return true
  }

  const sound = addSwitch('sound', 'Sound', async (isOn) => (isOn ? chime() : true))
  sound.checked = isKept('sound')
  if (sound.checked) {
    // One press is enough, wherever.
    addEventListener('pointerdown', () => void (audio ??= new AudioContext()).resume(), { once: true })
  }

  // -- Notifications: plain text, which leads to the list and to nothing else.

  const canNotify = 'Notification' in window && isSecureContext
  let shown: Notification | null = null

  async function permit(isOn: boolean): Promise<true | string> {
    if (!isOn) return true
    if (!canNotify) return 'This browser notifies only from https or from this machine.'
    if ((await Notification.requestPermission()) !== 'granted') return 'The browser has not allowed notifications.'
    return true
  }

  const notification = addSwitch('notification', 'Notification', permit)
  notification.checked = isKept('notification') && canNotify && Notification.permission === 'granted'
  place.append(note)

  function notify(title: string, body: string): void {
    if (!notification.checked || (!document.hidden && document.hasFocus())) return
    try {
      shown?.close()
      // The same tag: lists in other tabs take each other's place.
      shown = new Notification(title, { body, tag: 'holdpoint.list', icon: '/assets/holdpoint.svg' })
      shown.onclick = () => {
        window.focus()
        shown?.close()
      }
    } catch {
      notification.checked = false
      note.textContent = 'This browser shows no notifications of a page.'
    }
  }

  function say({ more, come, missed }: News): void {
    const [one] = come
    if (more === 1 && one !== undefined) notify(`Waiting: ${one.action}`, `Asked by ${one.requester}.`)
    else if (more > 0)
      notify(
        `${more} new requests wait`,
        come
          .slice(0, 5)
          .map(({ action }) => action)
          .join('\n'),
      )
    else if (missed.length > 0) notify('Expired before anybody decided', missed.map(({ action }) => action).join('\n'))
  }

  function badge(count: number): void {
    // Only some browsers have it, and only for a program that was installed.
    const change = count === 0 ? navigator.clearAppBadge : navigator.setAppBadge
    void change?.call(navigator, count).catch(() => {})
  }

  badge(Number(document.getElementById('list')!.dataset.count))
  document.addEventListener('holdpoint-news', (event) => {
    const { detail } = event as CustomEvent<News>
    badge(detail.count)
    if (detail.count === 0) shown?.close()
    if (sound.checked && detail.more + detail.missed.length > 0) {
      void chime().then((result) => (note.textContent = result === true ? '' : result))
    }
    say(detail)
  })
  document.addEventListener('holdpoint-signed-out', () => {
    notify('Signed out', 'Nothing more is told here until you sign in again.')
  })
})()
