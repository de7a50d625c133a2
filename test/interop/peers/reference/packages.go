package main

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/open-telemetry/opamp-go/client/types"
	"github.com/open-telemetry/opamp-go/protobufs"
)

type packageOptions struct {
	folder string
	fail   bool
}

// packages is the memory of an agent's packages that the library asks and tells: nothing of it outlives the process.
type packages struct {
	options packageOptions

	guard    sync.Mutex
	setHash  []byte
	states   map[string]types.PackageState
	contents map[string][]byte
	reported *protobufs.PackageStatuses
}

var _ types.PackagesStateProvider = (*packages)(nil)

func newPackages(options packageOptions) *packages {
	return &packages{options: options, states: map[string]types.PackageState{}, contents: map[string][]byte{}}
}

// reads and writes hold the lock over one look or one change.
func locked[T any](p *packages, do func() T) T {
	p.guard.Lock()
	defer p.guard.Unlock()
	return do()
}

func (p *packages) change(do func()) error {
	p.guard.Lock()
	defer p.guard.Unlock()
	do()
	return nil
}

func (p *packages) AllPackagesHash() ([]byte, error) {
	return locked(p, func() []byte { return p.setHash }), nil
}

func (p *packages) SetAllPackagesHash(hash []byte) error {
	return p.change(func() { p.setHash = hash })
}

func (p *packages) Packages() ([]string, error) {
	return locked(p, func() []string { return slices.Collect(maps.Keys(p.states)) }), nil
}

func (p *packages) PackageState(name string) (types.PackageState, error) {
	return locked(p, func() types.PackageState { return p.states[name] }), nil
}

func (p *packages) SetPackageState(name string, state types.PackageState) error {
	state.Exists = true
	return p.change(func() { p.states[name] = state })
}

func (p *packages) CreatePackage(name string, kind protobufs.PackageType) error {
	return p.SetPackageState(name, types.PackageState{Type: kind})
}

func (p *packages) FileContentHash(name string) ([]byte, error) {
	return locked(p, func() []byte { return p.contents[name] }), nil
}

// UpdateContent is the installation: the download is read to its end, kept if there is a folder, and fails if it should.
func (p *packages) UpdateContent(_ context.Context, name string, data io.Reader, contentHash, signature []byte) error {
	content, err := io.ReadAll(data)
	say("UpdateContent", fields{
		"name":        name,
		"bytes":       len(content),
		"contentHash": hex.EncodeToString(contentHash),
		"signature":   string(signature),
	})
	if err != nil {
		return err
	}
	if p.options.fail {
		return errors.New("peer was told to fail")
	}
	if p.options.folder != "" {
		if err := os.WriteFile(filepath.Join(p.options.folder, "package.bin"), content, 0o600); err != nil {
			return err
		}
	}
	return p.change(func() { p.contents[name] = contentHash })
}

func (p *packages) DeletePackage(name string) error {
	say("DeletePackage", fields{"name": name})
	return p.change(func() { delete(p.states, name) })
}

func (p *packages) LastReportedStatuses() (*protobufs.PackageStatuses, error) {
	return locked(p, func() *protobufs.PackageStatuses { return p.reported }), nil
}

func (p *packages) SetLastReportedStatuses(statuses *protobufs.PackageStatuses) error {
	sayMessage("PackageStatuses", statuses)
	return p.change(func() { p.reported = statuses })
}
