// The document around every page: its head, the bar with who is signed in, and the place for the content.
import { html, type Markup, named } from './html.js'

/** What is around every page. */
export interface Frame {
  /** No key exists: everyone on this machine may decide. */
  isOpen: boolean
  /** Who is signed in or named by the link; null: nobody. */
  viewer: string | null
  /** Shows a form to sign out. */
  signOut: { action: string; csrf: string } | null
}

/** What a page has beside what all have. */
export interface Extras {
  icon?: string
  scripts?: string[]
}

/** `skip` is where the first link leads; null: to the content. */
export function page(
  frame: Frame,
  title: string,
  main: Markup,
  skip: { href: string; text: string } | null,
  { icon = '/assets/holdpoint.svg', scripts = [] }: Extras = {},
): string {
  const { isOpen, viewer, signOut } = frame
  const { href, text } = skip ?? { href: '#main', text: 'Skip to the content' }
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="format-detection" content="telephone=no, date=no, address=no, email=no" />
        <title>${title} · Holdpoint</title>
        <link rel="icon" href="${icon}" type="image/svg+xml" />
        <link rel="stylesheet" href="/assets/holdpoint.css" />
        <script src="/assets/remember.js" defer></script>
        <script src="/assets/holdpoint.js" defer></script>
        ${scripts.map((src) => html`<script src="${src}" defer></script>`)}
      </head>
      <body>
        <header>
          <a class="skip" href="${href}">${text}</a>
          <div class="bar">
            <p class="brand"><img src="/assets/holdpoint.svg" alt="" width="24" height="24" /> Holdpoint</p>
            ${viewer === null ? null : html`<p class="viewer"><span class="quiet">You are</span> ${named(viewer)}</p>`}
            ${signOut === null ? null : html`<form method="post" action="${signOut.action}" class="sign-out"><input type="hidden" name="csrf" value="${signOut.csrf}" /><button type="submit" class="small">Sign out</button></form>`}
          </div>
          ${isOpen ? html`<p class="open"><b>This service is open.</b> No key exists yet, so everyone on this machine can see and decide everything here.</p>` : null}
        </header>
        <main id="main" tabindex="-1">${main}</main>
        <p class="spoken" id="spoken" role="status"></p>
      </body>
    </html> `.html
}
