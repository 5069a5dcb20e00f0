/** Stands for the platform's module where Node reads the table of routes: nothing of it can run there. */
export const env = {};
export class DurableObject {}
export class WorkerEntrypoint {}
export class RpcTarget {}
export function connect(): never {
  throw new Error("there are no sockets here");
}
