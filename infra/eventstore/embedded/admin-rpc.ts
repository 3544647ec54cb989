import * as fs from 'node:fs';
import { connect } from 'node:http2';
import { join } from 'node:path';
import { replaceFile } from '../../durable-files.ts';
import type { Call, Receiver } from './grpc.ts';
import { createMessageParser, unary } from './grpc.ts';
import { unknown } from './grpc-status.ts';
import { bytesOf, framed, readFields, text } from './protobuf.ts';
import { secretOf } from './secret.ts';

export const SCAVENGE = '/annals.embedded.Store/Scavenge';

const path = (dir: string): string => join(dir, 'serving');

/** Leaves word of where the store of a directory is served. */
export const writeAddressFile = (dir: string, address: string): void => replaceFile(path(dir), `${address}\n`);
export const removeAddressFile = (dir: string): void => fs.rmSync(path(dir), { force: true });

/** A method of ours that works on the running store and answers in words. */
export const textMethod =
  (work: () => Promise<string>) =>
  (call: Call): Receiver =>
    unary(call, () => {
      work().then(
        (words) => {
          call.send(framed(text(1, words)));
          call.end();
        },
        (error) => call.end(unknown(String(error))),
      );
    });

/** Asks the process that serves a directory. @throws where it does not answer */
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
    let words: string | undefined;
    let refusal = 'it gave no answer';
    const note = (headers: Record<string, unknown>) => {
      if (headers['grpc-status'] !== '0' && headers['grpc-message']) refusal = String(headers['grpc-message']);
    };
    call.on('response', note).on('trailers', note).on('error', reject);
    call.on(
      'data',
      createMessageParser((bytes) => {
        words = bytesOf(readFields(bytes), 1)?.toString();
      }).take,
    );
    call.on('close', () => {
      session.close();
      if (words === undefined) reject(new Error(`the running store refused: ${refusal}`));
      else resolve(words);
    });
    call.end(framed());
  });
