// Counts what Durable Objects do, for the table of costs: never for measuring time.

let rowsRead = 0;
let rowsWritten = 0;
let calls = [];
let alarms = 0;

/** Counts what an object does to its storage. Returns a function that adds up the statements since its last call. */
function countStorage({ storage }) {
  const { sql } = storage;
  let cursors = [];
  const { exec } = sql;
  sql.exec = (...args) => {
    const cursor = exec.apply(sql, args);
    cursors.push(cursor);
    return cursor;
  };
  const { setAlarm } = storage;
  storage.setAlarm = (...args) => {
    alarms++;
    return setAlarm.apply(storage, args);
  };
  // Called in the object: a cursor that was not read to its end belongs to it.
  return () => {
    for (const cursor of cursors) {
      rowsRead += cursor.rowsRead;
      rowsWritten += cursor.rowsWritten;
    }
    cursors = [];
  };
}

/** The class with its statements counted, and the calls of its methods: each is one request on the vendor's bill. */
export function counted(Base) {
  const Counted = class extends Base {
    #id;
    #addUp;

    constructor(ctx, env) {
      const addUp = countStorage(ctx);
      super(ctx, env);
      this.#addUp = addUp;
      this.#id = `${Base.name} ${ctx.id}`;
    }

    static async count(object, method, work) {
      calls.push({ object: object.#id, method: `${Base.name}.${method}` });
      try {
        return await work();
      } finally {
        object.#addUp();
      }
    }
  };
  for (const name of Object.getOwnPropertyNames(Base.prototype)) {
    if (name === "constructor" || typeof Base.prototype[name] !== "function") continue;
    Counted.prototype[name] = function (...args) {
      return Counted.count(this, name, () => Base.prototype[name].apply(this, args));
    };
  }
  return Counted;
}

/** The counts since the last reset. */
export function readCounts() {
  return {
    rowsRead,
    rowsWritten,
    alarms,
    calls: calls.map(({ method }) => method),
    objects: new Set(calls.map(({ object }) => object)).size,
  };
}

/** Begins to count anew. */
export function resetCounts() {
  rowsRead = 0;
  rowsWritten = 0;
  calls = [];
  alarms = 0;
}
