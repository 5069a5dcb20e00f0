/** What each source exports, of the one module that the runtime has of them (one-module.ts). */
export function allSources(): readonly Readonly<Record<string, unknown>>[] {
  const { groveSources } = globalThis as unknown as { groveSources: Readonly<Record<string, object>> };
  return Object.values(groveSources) as Readonly<Record<string, unknown>>[];
}
