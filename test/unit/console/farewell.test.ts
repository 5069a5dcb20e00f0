import { expect, it } from "vitest";
import { signedOut } from "../../../console/sign-in/farewell.ts";

const NOW = Date.parse("2026-11-29T10:00:00Z");

it.each([
  [{ ends: null, isRevoked: true, messages: [] }, "good", "You are signed out, and the token is revoked."],
  [
    { ends: null, isRevoked: false, messages: [] },
    "plain",
    "You are signed out. The token stays valid: it never ends.",
  ],
  [
    { ends: NOW + 60_000, isRevoked: false, messages: [] },
    "plain",
    "You are signed out. The token stays valid: it ends in 1m.",
  ],
  [
    { ends: NOW + 60_000, isRevoked: false, messages: ["The server can't be reached."] },
    "warn",
    "You are signed out, but your token could not be revoked and ends in 1m. The server can't be reached.",
  ],
] as const)("the page after a sign-out says what became of the token: %j", (out, tone, text) => {
  expect(signedOut(out, NOW)).toEqual({ tone, text });
});
