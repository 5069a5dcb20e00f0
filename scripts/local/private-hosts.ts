import { blockText, readPrivateHosts } from "../../src/base/outbound-hosts.ts";
import { err, ok, type Result } from "../../src/base/result.ts";

/** What `--allow-private-host` lists. */
export interface PrivateHostList {
  /** As the Worker reads it: it judges every URL by it. */
  readonly text: string;
  /** CIDR blocks of its addresses: the runtime allows connections to them, by any name. */
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
