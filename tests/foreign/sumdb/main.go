// Answers questions about notes and logs with golang.org/x/mod/sumdb, which uses the same formats.
//
// A question is a line of JSON on standard input, its answer a line on standard output. Hashes,
// texts and notes are base64, as encoding/json writes bytes.
package main

import (
	"bufio"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type question struct {
	Do     string
	Note   []byte
	Keys   []string
	Name   string
	Seed   []byte
	Text   []byte
	Leaves [][]byte
	Index  int64
	Old    int64
	Size   int64
	Leaf   []byte
	Root   []byte
	Before []byte
	Proof  [][]byte
}

type answer struct {
	Error    string   `json:",omitempty"`
	Text     []byte   `json:",omitempty"`
	Signed   []string `json:",omitempty"`
	Ignored  []string `json:",omitempty"`
	Note     []byte   `json:",omitempty"`
	Key      string   `json:",omitempty"`
	Root     []byte   `json:",omitempty"`
	Before   []byte   `json:",omitempty"`
	LeafHash []byte   `json:",omitempty"`
	Record   [][]byte `json:",omitempty"`
	Tree     [][]byte `json:",omitempty"`
	Origin   string   `json:",omitempty"`
	Size     int64    `json:",omitempty"`
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 4<<20)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var asked question
		var told answer
		err := json.Unmarshal(in.Bytes(), &asked)
		if err == nil {
			err = reply(&asked, &told)
		}
		if err != nil {
			told = answer{Error: err.Error()}
		}
		if err := out.Encode(told); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func reply(asked *question, told *answer) error {
	switch asked.Do {
	case "open":
		return open(asked, told)
	case "sign":
		return sign(asked, told)
	case "log":
		return log(asked, told)
	case "record":
		var proof tlog.RecordProof = hashes(asked.Proof)
		return tlog.CheckRecord(proof, asked.Size, hash(asked.Root), asked.Index, hash(asked.Leaf))
	case "tree":
		var proof tlog.TreeProof = hashes(asked.Proof)
		return tlog.CheckTree(proof, asked.Size, hash(asked.Root), asked.Old, hash(asked.Before))
	case "checkpoint":
		return checkpoint(asked, told)
	}
	return fmt.Errorf("unknown question %q", asked.Do)
}

func open(asked *question, told *answer) error {
	var known []note.Verifier
	for _, key := range asked.Keys {
		verifier, err := note.NewVerifier(key)
		if err != nil {
			return err
		}
		known = append(known, verifier)
	}
	opened, err := note.Open(asked.Note, note.VerifierList(known...))
	if err != nil {
		return err
	}
	told.Text = []byte(opened.Text)
	for _, signature := range opened.Sigs {
		told.Signed = append(told.Signed, signature.Name)
	}
	for _, signature := range opened.UnverifiedSigs {
		told.Ignored = append(told.Ignored, signature.Name)
	}
	return nil
}

// sign makes the signing key's text form, which only this package writes, from its seed.
func sign(asked *question, told *answer) error {
	public := ed25519.NewKeyFromSeed(asked.Seed).Public().(ed25519.PublicKey)
	key, err := note.NewEd25519VerifierKey(asked.Name, public)
	if err != nil {
		return err
	}
	id := strings.SplitN(key, "+", 3)[1]
	private := base64.StdEncoding.EncodeToString(append([]byte{1}, asked.Seed...))
	signer, err := note.NewSigner("PRIVATE+KEY+" + asked.Name + "+" + id + "+" + private)
	if err != nil {
		return err
	}
	told.Key = key
	told.Note, err = note.Sign(&note.Note{Text: string(asked.Text)}, signer)
	return err
}

// log builds a log of the leaves, and proves one leaf and one older size of it.
func log(asked *question, told *answer) error {
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		read := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			read[i] = stored[index]
		}
		return read, nil
	})
	for n, leaf := range asked.Leaves {
		more, err := tlog.StoredHashes(int64(n), leaf, reader)
		if err != nil {
			return err
		}
		stored = append(stored, more...)
	}
	size := int64(len(asked.Leaves))
	root, err := tlog.TreeHash(size, reader)
	if err != nil {
		return err
	}
	before, err := tlog.TreeHash(asked.Old, reader)
	if err != nil {
		return err
	}
	record, err := tlog.ProveRecord(size, asked.Index, reader)
	if err != nil {
		return err
	}
	tree, err := tlog.ProveTree(size, asked.Old, reader)
	if err != nil {
		return err
	}
	leaf := tlog.RecordHash(asked.Leaves[asked.Index])
	told.Root, told.Before, told.LeafHash = root[:], before[:], leaf[:]
	told.Record, told.Tree = slices(record), slices(tree)
	return nil
}

// checkpoint reads origin, size and root with nothing but the standard library, after Open.
func checkpoint(asked *question, told *answer) error {
	if err := open(asked, told); err != nil {
		return err
	}
	lines := strings.Split(string(told.Text), "\n")
	if len(lines) != 4 || lines[3] != "" {
		return fmt.Errorf("%d lines", len(lines)-1)
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return err
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil {
		return err
	}
	told.Origin, told.Size, told.Root = lines[0], size, root[:]
	return nil
}

func hash(data []byte) (h tlog.Hash) {
	copy(h[:], data)
	return h
}

func hashes(data [][]byte) []tlog.Hash {
	var all []tlog.Hash
	for _, each := range data {
		all = append(all, hash(each))
	}
	return all
}

func slices(data []tlog.Hash) [][]byte {
	all := make([][]byte, len(data))
	for i := range data {
		all[i] = data[i][:]
	}
	return all
}
