import type { OperationName } from "./operations.ts";

/** Requests of each kind in a second, all over the world. */
export type Rates = Readonly<Record<OperationName, number>>;

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
  readonly rates: Rates;
}

/** A company of its own: one mount, some thousand machines. */
const COMPANY: World = {
  title: "a company",
  liveTokens: 100_000,
  liveTrees: 20_000,
  isolates: 200,
  mounts: 1,
  accounts: 5,
  rates: {
    lookUp: 200,
    lookUpOfEntity: 20,
    lookUpOfBatch: 20,
    createChild: 15,
    createByRole: 5,
    createOrphan: 2,
    createBatch: 20,
    renew: 20,
    renewLogin: 10,
    revoke: 5,
    loginByDocument: 3,
    loginBySignature: 10,
    loginForBatch: 10,
    listAccessors: 0.1,
  },
};

/** 2,000 logins a second through one mount. */
export const FLEET: World = {
  title: "a fleet behind one mount",
  liveTokens: 5_000_000,
  liveTrees: 4_000_000,
  isolates: 1_000,
  mounts: 1,
  accounts: 20,
  rates: {
    lookUp: 10_000,
    lookUpOfEntity: 500,
    lookUpOfBatch: 500,
    createChild: 100,
    createByRole: 100,
    createOrphan: 10,
    createBatch: 1_000,
    renew: 500,
    renewLogin: 500,
    revoke: 100,
    loginByDocument: 500,
    loginBySignature: 500,
    loginForBatch: 1_000,
    listAccessors: 1,
  },
};

/** A public platform: a billion tokens, 100,000 logins and a million look-ups a second. */
const PLATFORM: World = {
  title: "a platform",
  liveTokens: 1_000_000_000,
  liveTrees: 500_000_000,
  isolates: 10_000,
  mounts: 1_000,
  accounts: 10_000,
  rates: {
    lookUp: 900_000,
    lookUpOfEntity: 50_000,
    lookUpOfBatch: 50_000,
    createChild: 10_000,
    createByRole: 10_000,
    createOrphan: 1_000,
    createBatch: 50_000,
    renew: 50_000,
    renewLogin: 20_000,
    revoke: 10_000,
    loginByDocument: 10_000,
    loginBySignature: 40_000,
    loginForBatch: 50_000,
    listAccessors: 10,
  },
};

export const WORLDS: readonly World[] = [COMPANY, FLEET, PLATFORM];

/** The same world with so many times the requests, and what goes with them. Mounts and accounts stay as they are. */
export function grown(world: World, factor: number): World {
  const rates = Object.fromEntries(Object.entries(world.rates).map(([name, rate]) => [name, rate * factor])) as Rates;
  return {
    ...world,
    rates,
    isolates: world.isolates * factor,
    liveTokens: world.liveTokens * factor,
    liveTrees: world.liveTrees * factor,
  };
}

/** Logins of all kinds in a second. */
export function loginsPerSecond({ rates }: World): number {
  return rates.loginByDocument + rates.loginBySignature + rates.loginForBatch;
}
