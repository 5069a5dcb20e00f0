import { createServer } from "node:net";
import { type ListenAddress, listenAt } from "../../gateway/server.ts";
import { blockText, readPrivateHosts } from "../../src/base/outbound-hosts.ts";
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

/** `HOST:PORT` as in a URL, with an IPv6 address in brackets. */
export function addressText({ host, port }: ListenAddress): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** The message for the operator about an address that can't be used. `advice` names the flag for another. */
export function listenFailure(address: ListenAddress, code: string, advice: string): string {
  const where = addressText(address);
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

/** Why an address can't be used; undefined when it can. Checked before the slow part of a start, and again when the server listens. */
export async function portProblem(address: ListenAddress, advice: string): Promise<string | undefined> {
  const probe = createServer();
  const bound = await listenAt(probe, address);
  if (!bound.ok) return listenFailure(address, bound.error, advice);
  await new Promise((closed) => probe.close(closed));
  return undefined;
}

/** The value of `--allow-private-host`. */
export interface PrivateHostList {
  /** The text, by which the Worker judges every URL. */
  readonly text: string;
  /** CIDR blocks of its addresses, to which the runtime allows connections. */
  readonly blocks: readonly string[];
}

/** Reads the value of `--allow-private-host`; the error is a message for the operator. */
export function parsePrivateHosts(text: string): Result<PrivateHostList, string> {
  const hosts = readPrivateHosts(text);
  if (!hosts.ok) {
    return err(
      `--allow-private-host takes addresses, CIDR blocks and names of hosts; "${hosts.error}" is none of them`,
    );
  }
  return ok({ text, blocks: hosts.value.blocks.map(blockText) });
}
