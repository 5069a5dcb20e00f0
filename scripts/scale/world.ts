import { OPERATION_NAMES, type OperationName } from "./operations.ts";

/** What an installation is asked to carry. */
export interface World {
  readonly title: string;
  readonly liveTokens: number;
  /** Trees that these are in. */
  readonly liveTrees: number;
  /** Isolates of the Worker and of objects, each of which keeps a copy of the installation. */
  readonly isolates: number;
  /** Mounts of the cloud method that the logins are spread over, and accounts in the cloud. */
  readonly mounts: number;
  readonly accounts: number;
  /** Requests of each kind in a second, of all clients together. */
  readonly rates: Readonly<Record<OperationName, number>>;
}

/** Requests of each kind in a second: of a company, of a fleet and of a platform. */
const RATES: Readonly<Record<OperationName, readonly [company: number, fleet: number, platform: number]>> = {
  lookUp: [200, 10_000, 900_000],
  lookUpOfEntity: [20, 500, 50_000],
  lookUpOfBatch: [20, 500, 50_000],
  createChild: [15, 100, 10_000],
  createByRole: [5, 100, 10_000],
  createOrphan: [2, 10, 1_000],
  createBatch: [20, 1_000, 50_000],
  renew: [20, 500, 50_000],
  renewLogin: [10, 500, 20_000],
  revoke: [5, 100, 10_000],
  loginByDocument: [3, 500, 10_000],
  loginBySignature: [10, 500, 40_000],
  loginForBatch: [10, 1_000, 50_000],
  listAccessors: [0.1, 1, 10],
};

/** A company of its own: one mount, some thousand machines. */
const COMPANY: World = {
  title: "A company",
  liveTokens: 100_000,
  liveTrees: 20_000,
  isolates: 200,
  mounts: 1,
  accounts: 5,
  rates: ratesBy((name) => RATES[name][0]),
};

/** 2,000 logins a second through one mount. */
export const FLEET: World = {
  title: "A fleet behind one mount",
  liveTokens: 5_000_000,
  liveTrees: 4_000_000,
  isolates: 1_000,
  mounts: 1,
  accounts: 20,
  rates: ratesBy((name) => RATES[name][1]),
};

/** A public platform: a billion tokens, 100,000 logins and a million look-ups a second. */
const PLATFORM: World = {
  title: "A platform",
  liveTokens: 1_000_000_000,
  liveTrees: 500_000_000,
  isolates: 10_000,
  mounts: 1_000,
  accounts: 10_000,
  rates: ratesBy((name) => RATES[name][2]),
};

export const WORLDS: readonly World[] = [COMPANY, FLEET, PLATFORM];

/** The same world with so many times the requests, and what goes with them. Mounts and accounts stay as they are. */
export function grown(world: World, factor: number): World {
  return {
    ...world,
    rates: ratesBy((name) => world.rates[name] * factor),
    isolates: world.isolates * factor,
    liveTokens: world.liveTokens * factor,
    liveTrees: world.liveTrees * factor,
  };
}

/** Logins of all kinds in a second. */
export function loginsPerSecond({ rates }: World): number {
  return rates.loginByDocument + rates.loginBySignature + rates.loginForBatch;
}

function ratesBy(rateOf: (name: OperationName) => number): Record<OperationName, number> {
  return Object.fromEntries(OPERATION_NAMES.map((name) => [name, rateOf(name)])) as Record<OperationName, number>;
}
