//===- Effects.td - what passes do to answers --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A pass keeps every bit of an answer, unless its record says more. The pages
// of docs show it, and fa3-run --check-each-pass holds each pass to it.
//===----------------------------------------------------------------------===//

#ifndef FA3_EFFECTS
#define FA3_EFFECTS

class Effect<string theCase, string theText> {
  string effect = theCase;
  string effectText = theText;
}

class Reorders : Effect<"Reorders",
    "adds or multiplies the same numbers in another order">;
class RoundsOperands : Effect<"RoundsOperands",
    "rounds an operand once more to its type">;
class Approximates : Effect<"Approximates",
    "computes a function approximately">;

#endif // FA3_EFFECTS
