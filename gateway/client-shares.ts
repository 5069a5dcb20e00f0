import { allowanceOf, type Networks } from "../src/base/client-network.ts";

/** The networks of a client, each with its share. Empty for a client without a share, for example a trusted proxy. */
export type ShareNetworks = Networks | readonly [];

/**
 * A limited resource. Each client may use a fixed ratio of what is free, so that something is left for the next client. With
 * 25 percent, one client alone gets a quarter of the total, and four clients at the same pace get a seventh each.
 */
export class Shares {
  readonly #total: number;
  readonly #percent: number;
  readonly #taken = new Map<string, number>();
  #sum = 0;

  /** @param percent of the total that one client alone may use; 100 is no bound. Every client may use 1 while it is free. */
  constructor(total: number, percent: number) {
    this.#total = total;
    this.#percent = percent;
  }

  /** The amount that all clients use together. */
  get used(): number {
    return this.#sum;
  }

  /** True when nothing is free. */
  get isUsedUp(): boolean {
    return this.#sum >= this.#total;
  }

  /** Takes an amount. When it is not free or exceeds the client's share, takes nothing and returns false. */
  take(networks: ShareNetworks, amount: number): boolean {
    if (amount > this.#total - this.#sum || this.exceeded(networks, amount) !== undefined) return false;
    this.#sum += amount;
    for (const network of networks) this.#taken.set(network, this.#of(network) + amount);
    return true;
  }

  /** The narrowest network whose share does not allow the amount; undefined when all do, even if it is not free. */
  exceeded(networks: ShareNetworks, amount: number): string | undefined {
    const free = this.#total - this.#sum - amount;
    return networks.find((network, width) => {
      const wanted = (this.#of(network) + amount) / allowanceOf(width);
      return wanted > 1 && wanted * (100 - this.#percent) > free * this.#percent;
    });
  }

  /** Gives back an amount that was taken for the same client. */
  giveBack(networks: ShareNetworks, amount: number): void {
    this.#sum -= amount;
    for (const network of networks) {
      const left = this.#of(network) - amount;
      // Deleted at zero, or the map would keep every address.
      if (left > 0) this.#taken.set(network, left);
      else this.#taken.delete(network);
    }
  }

  #of(network: string): number {
    return this.#taken.get(network) ?? 0;
  }
}
