import { EventStoreDBClient } from '@eventstore/db-client';
import type { StoreProcess } from './store-process.ts';

// Apart from the process, because this client and its successor cannot be loaded into one process.
/** The unchanged client, connected to a store that a test has started. */
export const clientOf = ({ url }: StoreProcess): EventStoreDBClient => EventStoreDBClient.connectionString(url);
