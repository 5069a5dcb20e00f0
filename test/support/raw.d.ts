declare module "*?raw" {
  const text: string;
  export default text;
}

declare module "grove:sources" {
  /** Names of the module with all sources, one for each time that an isolate evaluates it. */
  export const all: readonly string[];
  /** Name of the module with the runner's wrappers of the objects. */
  export const wrappers: string;
}
