import type { Socket } from 'node:net';
import pg from 'pg';

/** The name of a prepared statement, its SQL text, and its parameter values as text. */
export type Statement = { readonly name: string; readonly text: string; readonly values: readonly string[] };

/**
 * The methods of the driver's connection object that this module uses. The driver's type declarations describe an older
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
 * The size in bytes of the parts in which a batch is sent. The server can process the first part of a large batch while
 * the next parts are sent. Smaller parts would wake the server too often.
 */
const PART_BYTES = 64 << 10;

const unpreparedStatements = ({ parsedStatements }: Wire, statements: readonly Statement[]): Map<string, string> =>
  new Map(statements.flatMap(({ name, text }) => (parsedStatements[name] ? [] : [[name, text]])));

const send = (wire: Wire, statements: readonly Statement[], missing: ReadonlyMap<string, string>): void => {
  for (const [name, text] of missing) {
    // After a failed transaction, the server may still have a prepared statement with this name. So that statement is
    // closed first.
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
 * Buffers everything that `work` writes to the connection, and sends it when `work` has ended. If `work` throws, the
 * connection is destroyed. Otherwise, the Sync message of the next query would commit the statements that were already
 * written.
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
 * Runs statements in one transaction with one request to the database, and ignores the rows that they return. In
 * PostgreSQL's extended protocol, all statements before a Sync message form one transaction; with `begin` and `commit`,
 * each statement would have to wait for an answer.
 * @throws the error of the first statement that failed, after which nothing has been written; or the error of the
 * connection
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
