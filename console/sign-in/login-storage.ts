// This module runs first: it removes the provider's parameters from the URL before anything else can read them.

import type { BegunLogin } from "./begun-login.ts";
import { type Arrival, readArrival } from "./oidc-callback.ts";

/** Storage key of the login that this tab has begun. */
const KEY = "grove-login";

let arrival: Arrival | null = readArrival(window.location, window.sessionStorage.getItem(KEY));
forgetLogin();
if (arrival) window.history.replaceState(null, "", arrival.place);

/** How a provider opened this page; null when none did, and after the first call. */
export function takeArrival(): Arrival | null {
  const taken = arrival;
  arrival = null;
  return taken;
}

/** Stores a login while the browser is at the provider. */
export function keepLogin(login: BegunLogin): void {
  window.sessionStorage.setItem(KEY, JSON.stringify(login));
}

export function forgetLogin(): void {
  window.sessionStorage.removeItem(KEY);
}
