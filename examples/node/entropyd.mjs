// A client of entropyd: what every game server needs, and nothing of a framework.
//
// `npm run generate` lets plain protoc turn protos/ into entropyd.binpb, which is loaded here.

import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import grpc from "@grpc/grpc-js";
import { loadFileDescriptorSetFromBuffer } from "@grpc/proto-loader";

const HERE = new URL(".", import.meta.url);
const read = (path) => readFileSync(new URL(path, HERE));

// Retries only what may be retried, and waits as long as the daemon says.
const SERVICE_CONFIG = read("../../docs/service-config.json").toString();
const OPTIONS = {
  "grpc.service_config": SERVICE_CONFIG,
  "grpc.keepalive_time_ms": 30_000,
  "grpc.keepalive_timeout_ms": 10_000,
  "grpc.keepalive_permit_without_calls": 1,
};

// The daemon refuses calls without a deadline: 10 s is two of its holds.
const DEADLINE_MS = 10_000;
// When to ask again where nobody said when.
const PAUSE_MS = 1_000;

const u32 = (number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(number);
  return bytes;
};
const lp = (bytes) => Buffer.concat([u32(bytes.length), Buffer.from(bytes)]);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Return the 16 bytes that get this hand's deck read back: docs/protocol.md, "Claims". */
export function deriveClaim(claimKey, table, hand, place = 0) {
  if (claimKey.length < 32) throw new RangeError("a claim key has 32 bytes or more");
  const message = Buffer.concat([
    lp(Buffer.from("entropyd/claim-key/v1")),
    lp(Buffer.from(table, "ascii")),
    lp(Buffer.from(hand, "ascii")),
    u32(place),
  ]);
  return createHmac("sha256", claimKey).update(message).digest().subarray(0, 16);
}

/** Deals hands from one daemon. */
export class Dealer {
  #client;
  #claimKey;
  #metadata = new grpc.Metadata();

  /**
   * @param target "unix:/run/entropyd/poker.sock", "127.0.0.1:7443", or with `tls` "host:port"
   * @param claimKey 32 random bytes of your own; keep them, and apart from your credentials
   * @param tls {ca, cert, key, serverName}: PEM; cert and key where the daemon asks for a certificate
   * @param token where the daemon asks for a token; only with tls, or on this machine
   */
  constructor(target, { claimKey, tls = null, token = null }) {
    const definition = loadFileDescriptorSetFromBuffer(read("entropyd.binpb"), {
      keepCase: true,
      longs: String,
      enums: String,
      defaults: true,
    });
    const { ShuffleService } = grpc.loadPackageDefinition(definition).entropyd.v1;
    const credentials = tls
      ? grpc.credentials.createSsl(tls.ca, tls.key ?? null, tls.cert ?? null)
      : grpc.credentials.createInsecure();
    const named = tls?.serverName
      ? {
          "grpc.ssl_target_name_override": tls.serverName,
          "grpc.default_authority": tls.serverName,
        }
      : {};
    this.#client = new ShuffleService(target, credentials, { ...OPTIONS, ...named });
    this.#claimKey = claimKey;
    if (token) this.#metadata.set("authorization", `Bearer ${token}`);
  }

  /** Return the deck of a hand, drawn now or as it was drawn before; one call, with its retries. */
  shuffle(table, hand) {
    const request = { key: { table, hand }, claim: deriveClaim(this.#claimKey, table, hand) };
    const deadline = new Date(Date.now() + DEADLINE_MS);
    return new Promise((resolve, reject) => {
      this.#client.Shuffle(request, this.#metadata, { deadline }, (error, response) =>
        error ? reject(error) : resolve(response),
      );
    });
  }

  /**
   * Deal a hand however long it takes: while the daemon holds, restarts or is not reached, the same
   * request is right again, and nothing else is. Everything but UNAVAILABLE is for a person.
   *
   * A call that ran into its deadline may have been recorded; asking again gets the same deck.
   *
   * @param onHold called with the reason and the milliseconds to the next call
   */
  async deal(table, hand, { patienceMs = 60_000, onHold = () => {} } = {}) {
    const until = Date.now() + patienceMs;
    for (;;) {
      try {
        return await this.shuffle(table, hand);
      } catch (error) {
        const again = [grpc.status.UNAVAILABLE, grpc.status.DEADLINE_EXCEEDED];
        const waitMs = pauseFor(error);
        if (!again.includes(error.code) || Date.now() + waitMs > until) throw error;
        onHold(error.details, waitMs);
        await pause(waitMs);
      }
    }
  }

  close() {
    this.#client.close();
  }
}

function pauseFor(error) {
  const pushback = Number(error.metadata?.get("grpc-retry-pushback-ms")[0]);
  return pushback > 0 ? pushback : PAUSE_MS;
}
