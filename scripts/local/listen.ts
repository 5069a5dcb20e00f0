import { createServer } from "node:net";
import { type ListenAddress, listenAt } from "../../gateway/server.ts";
import { err, ok, type Result } from "../../src/base/result.ts";

/** Reads `HOST:PORT`, with an IPv6 address in brackets. */
export function parseListen(text: string, flag = "--listen"): Result<ListenAddress, string> {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) > 65_535) {
    return err(`${flag} takes HOST:PORT, for example 127.0.0.1:8200 or [::1]:8200, not "${text}"`);
  }
  return ok({ host, port: Number(port) });
}

/** The message for the operator about an address that cannot be listened on, and which flag chooses another. */
export function listenFailure(address: ListenAddress, code: string, advice: string): string {
  const where = `${address.host}:${address.port}`;
  switch (code) {
    case "EADDRINUSE":
      return `${where} is already in use by another program; ${advice}`;
    case "EACCES":
      return `this user may not listen on ${where}; ${advice}`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `${address.host} is not an address of this machine; ${advice}`;
    default:
      return `cannot listen on ${where} (${code}); ${advice}`;
  }
}

/**
 * Why an address cannot be listened on, or undefined. Asked before the slow part of a start; the one that listens in the end
 * reports the same again should another program have come first.
 */
export async function portProblem(address: ListenAddress, advice: string): Promise<string | undefined> {
  const probe = createServer();
  const bound = await listenAt(probe, address);
  if (!bound.ok) return listenFailure(address, bound.error, advice);
  await new Promise((closed) => probe.close(closed));
  return undefined;
}
