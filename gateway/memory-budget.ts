import { allowanceOf } from "../src/base/client-network.ts";
import type { ShareNetworks } from "./client-shares.ts";
import { Deadline } from "./deadline.ts";

/** Memory that is held for a client until it acts: until it reads an answer, or sends the rest of a body. */
export interface Holding {
  readonly networks: ShareNetworks;
  /** Memory in use. Only the budget changes it. */
  heldBytes: number;
  /** Called when the budget needs the memory. It must free the memory and end the connection. */
  drop(): void;
}

/** Bounds of a budget. */
export interface MemoryBounds {
  readonly totalBytes: number;
  /** What one client may hold when it is alone, in percent of the total. */
  readonly percent: number;
  /** What every client may hold, however many there are. */
  readonly leastBytes: number;
  /** For how long (ms) a dropped holding still counts for its client. */
  readonly owedMs: number;
}

/**
 * Bounded memory for holdings. It is not used up by clients that do not act: when it is full, the holding whose client has
 * not acted for the longest time is dropped. Dropped bytes still count for their client for a while, so that a client gains
 * nothing when it begins again.
 */
export class MemoryBudget {
  readonly #bounds: MemoryBounds;
  /** Holdings that can be dropped. The first one has waited longest for its client. */
  readonly #waiting = new Set<Holding>();
  readonly #bytesOf = new Map<string, number>();
  /** Number of the widest networks in `#bytesOf`. */
  #clients = 0;
  #used = 0;

  constructor(bounds: MemoryBounds) {
    this.#bounds = bounds;
  }

  /** The memory in use (bytes). */
  get used(): number {
    return this.#used;
  }

  /** True when something is held for a client, or another one in its widest network. */
  holdsFor(networks: ShareNetworks): boolean {
    return this.#held(networks.at(-1)) > 0;
  }

  /** True when a client may hold `bytes` more: an equal part of the budget, and at most its percentage. */
  admits(networks: ShareNetworks, bytes = 0): boolean {
    const { totalBytes, percent, leastBytes } = this.#bounds;
    const part = Math.max(leastBytes, totalBytes * Math.min(percent / 100, 1 / Math.max(this.#clients, 1)));
    return networks.every((network, width) => this.#held(network) + bytes <= part * allowanceOf(width));
  }

  /** Adds memory to a holding, and drops others as needed. False when the holding was dropped, or nothing could be. */
  grow(holding: Holding, bytes: number): boolean {
    this.#count(holding, bytes);
    this.#waiting.add(holding);
    while (this.#used > this.#bounds.totalBytes) {
      const [longest = holding] = this.#waiting;
      this.#drop(longest);
      if (longest === holding) return false;
    }
    return true;
  }

  /** Gives back memory of a holding whose client has acted. */
  shrink(holding: Holding, bytes: number): void {
    this.#count(holding, -bytes);
    this.#waiting.delete(holding);
    if (holding.heldBytes > 0) this.#waiting.add(holding);
  }

  /** Keeps a holding that no longer waits for its client. It is not dropped. */
  pin(holding: Holding): void {
    this.#waiting.delete(holding);
  }

  /** Gives back all memory of a holding. Safe to repeat. */
  end(holding: Holding): void {
    this.shrink(holding, holding.heldBytes);
  }

  #drop(holding: Holding): void {
    const { heldBytes, networks } = holding;
    this.end(holding);
    this.#owe(networks, heldBytes);
    new Deadline().arm(this.#bounds.owedMs, () => this.#owe(networks, -heldBytes));
    holding.drop();
  }

  #count(holding: Holding, bytes: number): void {
    holding.heldBytes += bytes;
    this.#used += bytes;
    this.#owe(holding.networks, bytes);
  }

  #owe(networks: ShareNetworks, bytes: number): void {
    for (const network of networks) {
      const before = this.#held(network);
      const after = before + bytes;
      // Deleted at zero, or the map would keep every address.
      if (after > 0) this.#bytesOf.set(network, after);
      else this.#bytesOf.delete(network);
      if (network === networks.at(-1)) this.#clients += Number(after > 0) - Number(before > 0);
    }
  }

  #held(network: string | undefined): number {
    return network === undefined ? 0 : (this.#bytesOf.get(network) ?? 0);
  }
}
