import * as fs from 'node:fs';
import { connect } from 'node:http2';
import { join } from 'node:path';
import { replaceFile } from '../../durable-files.ts';
import { bytesOf, framedMessage, readFields, textField } from './encoding/protobuf.ts';
import type { Call, Receiver } from './grpc.ts';
import { createMessageParser, unary } from './grpc.ts';
import { unknown } from './grpc-status.ts';
import { secretOf } from './secret.ts';

export const SCAVENGE = '/annals.embedded.Store/Scavenge';

const path = (dir: string): string => join(dir, 'serving');

/** `callRunningStore` finds it there. */
export const writeAddressFile = (dir: string, address: string): void => replaceFile(path(dir), `${address}\n`);
export const removeAddressFile = (dir: string): void => fs.rmSync(path(dir), { force: true });

/** A gRPC method that EventStoreDB does not have: sends the text that `work` returns. */
export const textMethod =
  (work: () => Promise<string>) =>
  (call: Call): Receiver =>
    unary(call, () => {
      work().then(
        (result) => {
          call.send(framedMessage(textField(1, result)));
          call.end();
        },
        (error) => call.end(unknown(String(error))),
      );
    });

/**
 * Calls a method made with `textMethod` on the process that serves this directory.
 * @throws Error if the process rejects the call or does not answer
 */
export const callRunningStore = (dir: string, method: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const session = connect(`http://${fs.readFileSync(path(dir), 'utf8').trim()}`);
    session.on('error', reject);
    const call = session.request({
      ':method': 'POST',
      ':path': method,
      'content-type': 'application/grpc',
      te: 'trailers',
      'connection-name': secretOf(dir),
    });
    let result: string | undefined;
    let reason = 'it did not answer';
    const readStatus = (headers: Record<string, unknown>) => {
      if (headers['grpc-status'] !== '0' && headers['grpc-message']) reason = String(headers['grpc-message']);
    };
    call.on('response', readStatus).on('trailers', readStatus).on('error', reject);
    call.on(
      'data',
      createMessageParser((bytes) => {
        result = bytesOf(readFields(bytes), 1)?.toString();
      }).take,
    );
    call.on('close', () => {
      session.close();
      if (result === undefined) reject(new Error(`the running store rejected the call: ${reason}`));
      else resolve(result);
    });
    call.end(framedMessage());
  });
