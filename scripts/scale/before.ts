import { type Calls, cost, type OperationName } from "./operations.ts";

/**
 * The costs of the same requests in release 0.1.0, before the load on shared objects was reduced. They are taken from its tests
 * where these counted, else from its code. There was no inventory yet: shards heard of creations and ends only.
 */
export const BEFORE: Readonly<Record<OperationName, Calls>> = {
  lookUp: { "TokenTree.run": cost(1, 0) },
  lookUpOfEntity: { "TokenTree.run": cost(2, 0), "Identity.view": cost(15, 0, 2) },
  lookUpOfBatch: { "Identity.view": cost(8, 0) },
  createChild: { "TokenTree.run": cost(8, 3), "AccessorShard.add": cost(2, 2) },
  createByRole: { "TokenTree.run": cost(8, 3), "AccessorShard.add": cost(2, 2), "TokenRoles.read": cost(1, 0) },
  createOrphan: { "TokenTree.run": cost(1, 0), "TokenTree.create": cost(12, 5), "AccessorShard.add": cost(2, 2) },
  createBatch: { "TokenTree.run": cost(1, 0) },
  renew: { "TokenTree.run": cost(2, 2) },
  renewLogin: { "TokenTree.run": cost(2, 0), "TokenTree.act": cost(2, 2), "CloudAuth.readLogin": cost(2, 0) },
  revoke: { "TokenTree.run": cost(2, 2), "TokenTree.alarm": cost(6, 2), "AccessorShard.remove": cost(2, 2) },
  loginByDocument: {
    "CloudAuth.startLogin": cost(4, 0),
    "CloudAuth.readLogin": cost(2, 0),
    "CloudLookups.ask": cost(0, 0),
    "CloudAuth.enterLogin": cost(3, 2),
    "Identity.resolveAlias": cost(8, 0),
    "Identity.view": cost(8, 0),
    "TokenTree.create": cost(12, 5),
    "AccessorShard.add": cost(2, 2),
  },
  loginBySignature: {
    "CloudAuth.startLogin": cost(2, 0),
    "CloudAuth.readLogin": cost(2, 0),
    "Identity.resolveAlias": cost(8, 0),
    "Identity.view": cost(8, 0),
    "TokenTree.create": cost(12, 5),
    "AccessorShard.add": cost(2, 2),
  },
  loginForBatch: {
    "CloudAuth.startLogin": cost(2, 0),
    "CloudAuth.readLogin": cost(2, 0),
    "Identity.resolveAlias": cost(8, 0),
    "Identity.view": cost(8, 0),
    "System.snapshot": cost(1, 0),
  },
  listAccessors: { "TokenTree.run": cost(1, 0), "AccessorShard.list": cost(24, 0, 16) },
};
