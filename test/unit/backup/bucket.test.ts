import { expect, it } from "vitest";
import { deleteOld, missingParts } from "../../../src/backup/bucket/bucket.ts";
import { backupName, backupPlace, manifestKey, partKey } from "../../../src/backup/names.ts";

/** A bucket with these keys, which lists two of them in a page. */
function bucketOf(keys: readonly string[]) {
  const left = new Set(keys);
  const bucket = {
    head: async (key: string) => (left.has(key) ? { key } : null),
    delete: async (gone: string | string[]) => void [gone].flat().map((key) => left.delete(key)),
    list: async ({ prefix = "", delimiter, cursor = "0" }: R2ListOptions) => {
      const found = [...left].filter((key) => key.startsWith(prefix)).sort();
      const folderOf = (key: string) => key.slice(0, key.indexOf("/", prefix.length) + 1);
      const all = delimiter === undefined ? found : [...new Set(found.map(folderOf))];
      const page = all.slice(Number(cursor), Number(cursor) + 2);
      const next = Number(cursor) + page.length;
      return {
        objects: delimiter === undefined ? page.map((key) => ({ key })) : [],
        delimitedPrefixes: delimiter === undefined ? [] : page,
        ...(next < all.length ? { truncated: true, cursor: String(next) } : { truncated: false }),
      };
    },
  };
  return { bucket: bucket as unknown as R2Bucket, left };
}

const sha256 = (number: number) => String(number).padStart(64, "0");

it("parts are found on all pages of the list of a bucket", async () => {
  const place = backupPlace("c", backupName(0));
  const parts = [1, 2, 3, 4, 5].map(sha256);
  const { bucket } = bucketOf([
    ...parts.map((part) => partKey(place, part)),
    partKey(backupPlace("d", backupName(0)), sha256(6)),
  ]);
  expect(await missingParts(bucket, place, [...parts, sha256(6)])).toEqual([sha256(6)]);
});

it("backups are counted on all pages, so that the newest stay", async () => {
  const places = [1, 2, 3, 4, 5].map((day) => backupPlace("c", backupName(day * 86_400_000)));
  const { bucket, left } = bucketOf(places.map(manifestKey));
  while (!(await deleteOld(bucket, "c", 2, 0)));
  expect([...left]).toEqual(places.slice(-2).map(manifestKey));
});
