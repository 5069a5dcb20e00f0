// The first module that runs: what a provider puts into the address is gone before anything else can read it.

import type { BegunLogin } from "./begun-login.ts";
import { type Arrival, readArrival } from "./oidc-callback.ts";

/** Key of the login that this tab has begun. */
const KEY = "grove-login";

let arrival: Arrival | null = readArrival(window.location, window.sessionStorage.getItem(KEY));
forgetLogin();
if (arrival) window.history.replaceState(null, "", arrival.place);

/** How the page was opened by a provider; null when it was not, and after the first call. */
export function takeArrival(): Arrival | null {
  const taken = arrival;
  arrival = null;
  return taken;
}

/** Keeps a login while the browser is at the provider. */
export function keepLogin(login: BegunLogin): void {
  window.sessionStorage.setItem(KEY, JSON.stringify(login));
}

export function forgetLogin(): void {
  window.sessionStorage.removeItem(KEY);
}
