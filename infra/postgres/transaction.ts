import type { Socket } from 'node:net';
import pg from 'pg';

/** A named statement with its values as text. */
export type Statement = { readonly name: string; readonly text: string; readonly values: readonly string[] };

/**
 * The methods of the driver's connection that are used here. The driver's own type declarations describe an older
 * version.
 */
type Wire = {
  readonly stream: Pick<Socket, 'cork' | 'uncork' | 'destroy' | 'writableLength'>;
  readonly parsedStatements: Record<string, string>;
  readonly close: (what: { type: 'S'; name: string }) => void;
  readonly parse: (statement: Pick<Statement, 'name' | 'text'>) => void;
  readonly bind: (of: { statement: string; values: readonly string[] }) => void;
  readonly execute: (of: { rows?: number }) => void;
  readonly sync: () => void;
};

/**
 * Data is sent in parts of this size. Each part wakes the server, which should receive the beginning of a large batch
 * early.
 */
const PART_BYTES = 64 << 10;

const unpreparedStatements = ({ parsedStatements }: Wire, statements: readonly Statement[]): Map<string, string> =>
  new Map(statements.flatMap(({ name, text }) => (parsedStatements[name] ? [] : [[name, text]])));

const send = (wire: Wire, statements: readonly Statement[], missing: ReadonlyMap<string, string>): void => {
  for (const [name, text] of missing) {
    // A failed transaction may have left a statement of this name.
    wire.close({ type: 'S', name });
    wire.parse({ name, text });
  }
  for (const { name, values } of statements) {
    wire.bind({ statement: name, values });
    wire.execute({});
    if (wire.stream.writableLength < PART_BYTES) continue;
    wire.stream.uncork();
    wire.stream.cork();
  }
  wire.sync();
};

/**
 * Buffers what `work` writes to the connection. If it throws half-way, the next query's Sync would commit what was
 * written, so the connection is destroyed instead.
 */
const corked = ({ stream }: Wire, work: () => void): void => {
  stream.cork();
  try {
    work();
  } catch (error) {
    stream.destroy();
    throw error;
  }
  stream.uncork();
};

/**
 * Runs statements in one transaction and one round trip, and ignores their rows. In PostgreSQL's extended protocol, all
 * statements before a Sync form one transaction. Separate queries between `begin` and `commit` would need an answer
 * each.
 * @throws the error of the first statement that failed (nothing has been written then), or of the connection
 */
export const inTransaction = (client: pg.Client, statements: readonly Statement[]): Promise<void> =>
  new Promise((resolve, reject) => {
    let parsed: () => void = () => {};
    const query = new pg.Query('', (error) => {
      if (error) return reject(error);
      parsed();
      resolve();
    });
    client.query(
      Object.assign(query, {
        submit: (connection: unknown) => {
          const wire = connection as Wire;
          const missing = unpreparedStatements(wire, statements);
          parsed = () => void Object.assign(wire.parsedStatements, Object.fromEntries(missing));
          corked(wire, () => send(wire, statements, missing));
          return null;
        },
        handleRowDescription: () => {},
        handleDataRow: () => {},
      }),
    );
  });
