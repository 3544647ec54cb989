import { connect, createServer, type Socket } from 'node:net';

/** A road to a service that can be closed, or held up: then nothing comes through, and nobody is told. */
export const road = async (serviceUrl: string) => {
  const target = new URL(serviceUrl);
  const open = new Set<Socket>();
  const pairs: (() => void)[] = [];
  let closed = false;
  let isHeldUp = false;
  const server = createServer((socket) => {
    if (closed) return void socket.destroy();
    const other = connect(Number(target.port), target.hostname);
    for (const end of [socket, other]) {
      open.add(end);
      end.on('error', () => {});
      end.on('close', () => {
        open.delete(end);
        socket.destroy();
        other.destroy();
      });
    }
    const through = () => void socket.pipe(other).pipe(socket);
    pairs.push(through);
    if (!isHeldUp) through();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(serviceUrl);
  url.host = `127.0.0.1:${(server.address() as { port: number }).port}`;
  return {
    url: url.href,
    close: () => {
      closed = true;
      for (const socket of open) socket.destroy();
    },
    open: () => {
      closed = false;
    },
    holdUp: () => {
      isHeldUp = true;
      for (const socket of open) socket.unpipe().pause();
    },
    /** What was held up stays so; who comes now gets through. */
    letNewThrough: () => {
      isHeldUp = false;
    },
    goOn: () => {
      isHeldUp = false;
      for (const through of pairs.splice(0)) through();
    },
    end: () => server.close(),
  };
};
