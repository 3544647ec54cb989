import { EventStoreDBClient } from '@eventstore/db-client';
import { afterwards } from './ending.ts';
import type { StoreProcess } from './store-process.ts';

// Apart from the process, because this client and its successor cannot be loaded into one process.
/** The unchanged client, connected to a store that a test has started. */
export const clientOf = ({ url }: StoreProcess): EventStoreDBClient => {
  const client = EventStoreDBClient.connectionString(url);
  afterwards(() => client.dispose());
  return client;
};
